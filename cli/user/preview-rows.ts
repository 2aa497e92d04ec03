// The commands for machines that work for people, as rows: previews for pull requests, and services as a file describes them.
import type { Options } from '../command.ts'
import { common_options, project_option, type UserCommand, yes_option } from './context.ts'

const of_project = { ...project_option, ...common_options }

const key = { value: 'id', description: 'What it is a preview of, such as pr-12-shop: the name of the fork.' } as const
const service = { value: 'service', description: 'The parent, by its id or name.' } as const

const up_options = {
  key: { ...key, required: true },
  service: { ...service, required: true },
  now: { description: 'As the parent is now; so without any of the three.' },
  'last-snapshot': { description: 'As in its newest snapshot, which is the cheapest.' },
  at: { value: 'moment', description: 'As it was then: 15m ago, yesterday 14:00, 2026-11-15T12:00:00Z.' },
  cpu: { value: 'number', description: 'Milli-cores, which imply the memory; left out: those of the parent.' },
  pooler: { description: 'With a connection pooler.' },
  expires: { value: 'duration', description: 'After which it is deleted by itself, from this run on; left out: 7d.' },
  ca: {
    value: 'path',
    description: 'Where the certificate that the URLs name is written; left out: where this command keeps it.',
  },
  reset: { description: 'Delete the fork that is there, and fork anew.' },
  ...of_project,
} as const satisfies Options

export const preview_commands: readonly UserCommand[] = [
  {
    name: 'preview up',
    summary: 'Fork a service for a pull request, or find the fork that is there and renew its expiry.',
    details:
      'A second run with the same key finds the same fork, and with the same personal access token the same password. -o json prints all that a program needs, the password included.',
    options: up_options,
    run: async (context) => (await import('./preview.ts')).runPreviewUp(context),
  },
  {
    name: 'preview down',
    summary: 'Delete the fork of preview up; where it is removed already, there is nothing to do.',
    options: { key: { ...key, required: true }, service, ...of_project },
    run: async (context) => (await import('./preview.ts')).runPreviewDown(context),
  },
  {
    name: 'preview github',
    summary: 'What action/preview runs in a workflow: up or down by the event of a pull request.',
    details: 'Its inputs are the variables PREVIEW_…, of which action/preview/action.yml has the list.',
    options: of_project,
    run: async (context) => (await import('./preview-github.ts')).runPreviewGithub(context),
  },
  {
    name: 'apply',
    summary: 'Make services as a file describes them: plan, ask, then do it.',
    details:
      'The file is JSON: {"services": [{"name": "shop", "cpu_millis": 1000, "environment_tag": "PROD", "replica_count": 1}]}. Names are keys; what the file does not name stays as it is, unless --prune deletes it.',
    options: {
      file: { short: 'f', value: 'path|-', required: true, description: 'What is wanted.' },
      prune: { description: 'Delete services of the project that the file does not name.' },
      'plan-only': { description: 'Print the plan and change nothing; exit code 8 where there is something to do.' },
      ...yes_option,
      ...of_project,
    },
    run: async (context) => (await import('./apply.ts')).runApply(context),
  },
]
