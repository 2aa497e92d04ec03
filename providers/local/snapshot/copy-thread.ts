// A thread that copies along: see copiers.ts.
import { answerWith } from '../threads.ts'
import { copyBatch } from './copy-batch.ts'

answerWith(copyBatch)
