// A thread that copies along: see copiers.ts.
import { answerWith } from '../host/threads.ts'
import { copyBatch } from './copy-batch.ts'

answerWith(copyBatch)
