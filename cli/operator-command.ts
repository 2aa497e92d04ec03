// A command of the operator: it works on the data directory that the settings name.
import type { Config } from '#server/config.ts'
import type { Command, Input } from './command.ts'

export type OperatorInput = Input & { config: Config }
export type OperatorCommand = Command<OperatorInput>
