// The commands that follow from no endpoint, as rows; what they do is loaded when one of them runs.
import { service_pages } from '#contract/console-page.ts'
import { connection_formats } from '#contract/connection.ts'
import { log_severities } from '#contract/log.ts'
import { type Options, required } from '../command.ts'
import {
  common_options,
  project_option,
  service_option,
  type UserCommand,
  wait_options,
  yes_option,
} from './context.ts'
import { preview_commands } from './preview-rows.ts'
import { preference_names } from './profile.ts'

const service = { name: 'service', optional: true, or_option: true } as const
const of_project = { ...project_option, ...common_options }
const of_service = { ...service_option, ...of_project }

const connection_options = {
  pooled: {
    value: 'transaction',
    value_optional: true,
    choices: ['session', 'transaction'],
    description: 'By the connection pooler; =transaction: pooled by transaction.',
  },
  replica: { value: 'set', description: 'A read replica set, by its id or name.' },
} as const satisfies Options

const { timeout } = wait_options

const service_commands: readonly UserCommand[] = [
  {
    name: 'service psql',
    summary: 'Open psql in a service.',
    details:
      'The password comes from ~/.pgpass, the certificate from the server; neither is an argument. What follows -- is psql’s.',
    positionals: [service],
    options: {
      ...connection_options,
      'read-only': { description: 'Begin with transactions that only read.' },
      ...of_service,
    },
    rest: { name: 'psql’s arguments', optional: true },
    run: async (context) => (await import('./service-access.ts')).runPsql(context),
  },
  {
    name: 'service connection-string',
    summary: 'Print how a program connects to a service, on one line.',
    positionals: [service],
    options: {
      format: {
        value: connection_formats.join('|'),
        choices: connection_formats,
        description: 'For whom; left out: uri.',
      },
      ...connection_options,
      'with-password': { description: 'With the password, if ~/.pgpass has it.' },
      ca: {
        value: 'path',
        description: 'Where the program finds the certificate; left out: where this command keeps it.',
      },
      ...of_service,
    },
    run: async (context) => (await import('./service-access.ts')).runConnectionString(context),
  },
  {
    name: 'service reset-password',
    summary: 'Give a service a new password, keep it and print it.',
    positionals: [service],
    options: {
      'password-storage': { value: 'pgpass|none', choices: ['pgpass', 'none'], description: 'none: only printed.' },
      ...yes_option,
      ...of_service,
    },
    run: async (context) => (await import('./service-access.ts')).runResetPassword(context),
  },
  {
    name: 'service wait',
    summary: 'Wait until nothing is under way in a service.',
    positionals: [service],
    options: {
      for: {
        value: 'ready|paused|gone|at-rest',
        choices: ['ready', 'paused', 'gone', 'at-rest'],
        description: 'What is hoped for; another end is exit code 8, UNSTABLE after 10 s of it. Left out: at-rest.',
      },
      timeout,
      ...of_service,
    },
    run: async (context) => (await import('./service-access.ts')).runWait(context),
  },
  {
    name: 'service logs',
    summary: 'Read the log of a service, oldest first.',
    positionals: [service],
    options: {
      follow: { short: 'f', description: 'Go on with what comes, until Ctrl-C.' },
      lines: {
        short: 'n',
        value: 'number',
        description: 'How many of the newest entries; left out: 200, with --since all.',
      },
      since: { value: 'moment', description: 'Entries after this only: 1h, yesterday 14:00, 2026-11-15T12:00:00Z.' },
      until: { value: 'moment', description: 'Entries before this only.' },
      grep: {
        value: 'text',
        repeatable: true,
        description: 'Entries with this text only, in any case. May be repeated.',
      },
      severity: {
        value: 'words',
        repeatable: true,
        description: `Of these only: ${log_severities.join(', ').toLowerCase()}.`,
      },
      node: { value: 'number', description: 'Which node, from 0; left out: the primary.' },
      ...of_service,
    },
    details: 'With -o json there is one JSON object a line.',
    run: async (context) => (await import('./logs.ts')).runLogs(context),
  },
  {
    name: 'service metrics',
    summary: 'Draw what a service used: a line for each metric, with its smallest, largest and latest value.',
    details: 'For programs: service metrics-series, or -o json.',
    positionals: [service],
    options: { since: { value: 'moment', description: 'Where it begins; left out: an hour ago.' }, ...of_service },
    run: async (context) => (await import('./metrics.ts')).runMetrics(context),
  },
]

const login_commands: readonly UserCommand[] = [
  {
    name: 'login',
    summary: 'Log in as a user, with a browser.',
    details: 'The credentials are kept in $XDG_CONFIG_HOME/howdah/credentials.json, which only you can read.',
    options: {
      server: { value: 'url', description: 'The server; left out: that of the profile, or of this machine.' },
      device: { description: 'Use a browser on another machine, and type a code there.' },
      'with-token': { description: 'Read a personal access token from stdin instead.' },
      ...common_options,
    },
    run: async (context) => (await import('./login.ts')).runLogin(context),
  },
  {
    name: 'logout',
    summary: 'End the login that howdah login made.',
    options: common_options,
    run: async (context) => (await import('./logout.ts')).runLogout(context),
  },
  {
    name: 'whoami',
    summary: 'Say who is logged in here.',
    options: common_options,
    run: async (context) => (await import('./whoami.ts')).runWhoami(context),
  },
]

const choice_commands: readonly UserCommand[] = [
  {
    name: 'use',
    summary: 'Choose the service, and its project, that the commands after this mean.',
    positionals: [service],
    options: { none: { description: 'Choose none.' }, ...of_service },
    run: async (context) => (await import('./choices.ts')).runUse(context),
  },
  {
    name: 'link',
    summary: 'Write .howdah.json: which server, project and service the commands in this folder mean.',
    details: 'It holds no secrets, so it may be committed.',
    positionals: [service],
    options: { ...yes_option, ...of_service },
    run: async (context) => (await import('./choices.ts')).runLink(context),
  },
  {
    name: 'profile list',
    aliases: ['ls'],
    summary: 'List the logins on this machine.',
    options: common_options,
    run: async (context) => (await import('./choices.ts')).runProfileList(context),
  },
  {
    name: 'profile use',
    summary: 'Choose the login that the commands after this use.',
    positionals: required('name'),
    options: common_options,
    run: async (context) => (await import('./choices.ts')).runProfileUse(context),
  },
  {
    name: 'profile delete',
    aliases: ['rm'],
    summary: 'Remove a login from this machine; howdah logout ends it at the server too.',
    positionals: required('name'),
    options: { ...yes_option, ...common_options },
    run: async (context) => (await import('./choices.ts')).runProfileDelete(context),
  },
  {
    name: 'config list',
    aliases: ['ls'],
    summary: `List what a profile prefers: ${preference_names.join(', ')}.`,
    options: common_options,
    run: async (context) => (await import('./choices.ts')).runConfigList(context),
  },
  {
    name: 'config get',
    summary: 'Print one preference.',
    positionals: required('key'),
    options: common_options,
    run: async (context) => (await import('./choices.ts')).runConfigGet(context),
  },
  {
    name: 'config set',
    summary: 'Set one preference; without a value it is taken back.',
    positionals: [{ name: 'key' }, { name: 'value', optional: true }],
    options: common_options,
    run: async (context) => (await import('./choices.ts')).runConfigSet(context),
  },
]

const mcp_options = {
  'read-only': { description: 'Only tools that read, as without any of the two.' },
  write: { description: 'Also tools that change something, and statements that write; left out: it only reads.' },
  'allow-prod-writes': { description: 'With --write: statements may write in services that are tagged PROD.' },
  tools: { value: 'names', repeatable: true, description: 'More tools, by the names of endpoints. May be repeated.' },
} as const satisfies Options

const mcp_commands: readonly UserCommand[] = [
  {
    name: 'mcp',
    summary: 'Serve an agent on stdin and stdout, by the Model Context Protocol.',
    details:
      'It does what the login may do, and only reads unless --write is given. Passwords go to ~/.pgpass, not to the agent.',
    options: { ...mcp_options, ...of_project },
    run: async (context) => (await import('./mcp.ts')).runMcp(context),
  },
  {
    name: 'mcp install',
    summary: 'Add howdah mcp to the settings of an agent’s program.',
    details: 'It shows what it adds, and to which file, before it does.',
    positionals: required('claude-code|cursor|vscode|codex'),
    options: { ...mcp_options, ...yes_option, ...of_project },
    run: async (context) => (await import('./mcp-install.ts')).runMcpInstall(context),
  },
]

const other_commands: readonly UserCommand[] = [
  {
    name: 'open',
    summary: 'Open the console in a browser, at a service.',
    details: 'The address is printed too, for machines without a browser.',
    positionals: [service, { name: service_pages.join('|'), optional: true }],
    options: of_service,
    run: async (context) => (await import('./open.ts')).runOpen(context),
  },
  {
    name: 'api',
    summary: 'Send one request to the API, with the login, and print the answer.',
    details: 'The path begins behind /public/api/v1. Example: howdah api POST /projects -f name=shop',
    positionals: required('method', 'path'),
    options: {
      field: {
        short: 'f',
        value: 'key=value',
        repeatable: true,
        description: 'A member of the body, or of the query of a GET.',
      },
      body: { value: 'json|@file|-', description: 'The whole body as JSON.' },
      ...common_options,
    },
    run: async (context) => (await import('./raw-api.ts')).runApi(context),
  },
  {
    name: 'completion',
    summary: 'Print what makes a shell complete howdah’s commands, options, names and ids.',
    details: 'For bash: eval "$(howdah completion bash)" in ~/.bashrc.',
    positionals: required('bash|zsh|fish'),
    options: common_options,
    run: async (context) => (await import('./completion.ts')).runCompletion(context),
  },
]

export const commands_by_hand: readonly UserCommand[] = [
  ...service_commands,
  ...login_commands,
  ...choice_commands,
  ...mcp_commands,
  ...preview_commands,
  ...other_commands,
]
