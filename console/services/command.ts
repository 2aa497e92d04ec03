// The request that makes a service, as a line of the command. Pure.

/** Members of the request's body, and the options of the same meaning. */
export const create_options = {
  environment_tag: '--environment',
  region_code: '--region',
  cpu_millis: '--cpu',
  memory_gbs: '--memory',
  addons: '--addon',
  replica_count: '--replicas',
  sync_replica_count: '--sync',
} as const

type Option = keyof typeof create_options
type Body = { name: string } & Partial<Record<Option, string | number | readonly string[]>>

export function createCommand(project_id: string, body: Body): string {
  const given = Object.keys(create_options).flatMap((member) => {
    const value = body[member as Option] // the keys of the table above
    const values = value === undefined ? [] : [value].flat()
    return values.map((one) => `${create_options[member as Option]} ${one}`)
  })
  return [`howdah service create ${quoted(body.name)}`, `--project ${project_id}`, ...given].join(' \\\n  ')
}

/** As a shell reads it. */
export function quoted(text: string): string {
  return /^[\w.-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`
}
