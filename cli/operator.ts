// The commands of the operator: they work on the data directory, also while the server runs, and take its settings.
import { type Environment, loadConfig, setting_flags, settingsHelp } from '#server/config.ts'
import { backupCheck, backupInit, backupStatus } from './admin/backup.ts'
import { keyRotate } from './admin/key.ts'
import { projectCreate, projectList } from './admin/project.ts'
import { restore } from './admin/restore.ts'
import { tokenCreate, tokenList, tokenRevoke } from './admin/token.ts'
import { userCreate, userDisable, userEnable, userList, userResetPassword } from './admin/user.ts'
import { vpcExec, vpcList } from './admin/vpc.ts'
import type { Options } from './command.ts'
import { doctor } from './doctor.ts'
import type { OperatorCommand, OperatorInput } from './operator-command.ts'
import { parseInput } from './parse.ts'
import { start } from './start.ts'
import { status } from './status.ts'
import { stop } from './stop.ts'

export const server_commands: readonly OperatorCommand[] = [start, status, stop, doctor]

export const admin_commands: readonly OperatorCommand[] = [
  tokenCreate,
  tokenList,
  tokenRevoke,
  projectCreate,
  projectList,
  userCreate,
  userResetPassword,
  userDisable,
  userEnable,
  userList,
  vpcList,
  vpcExec,
  keyRotate,
  backupInit,
  backupStatus,
  backupCheck,
  restore,
]

export const operator_commands: readonly OperatorCommand[] = [...server_commands, ...admin_commands]

/** Below the help text of each: all settings where they are read as a whole, and how to find them elsewhere. */
export function settingsHelpFor({ name }: Pick<OperatorCommand, 'name'>): string {
  if (name === 'start') return `Settings (a flag wins over the environment variable):\n${settingsHelp()}`
  return 'It works on the data directory: --data-dir or HOWDAH_DATA_DIR names another one. howdah help start lists all settings.'
}

export function parseOperatorInput(
  command: OperatorCommand,
  words: readonly string[],
  env: Environment,
): OperatorInput {
  const input = parseInput({ ...command, options: { ...setting_options, ...command.options } }, words)
  const argv = setting_flags.flatMap((flag) => {
    const value = input.text(flag.slice(2))
    return value === undefined ? [] : [`${flag}=${value}`]
  })
  return { ...input, config: loadConfig(argv, env) }
}

const setting_options: Options = Object.fromEntries(
  setting_flags.map((flag) => [flag.slice(2), { value: 'setting', description: '' }]),
)
