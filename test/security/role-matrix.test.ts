// Who may do what, as one matrix: every endpoint of the contract × every kind of caller × their own project, another one
// and none, compared with what the contract says; and every id in every path replaced by one of another project. All of it
// is derived from the contract: an endpoint to come is in it from its first day.
import { beforeAll, describe, expect, test } from 'vitest'
import { isRole, type Role, roleAllows, roles } from '#contract/endpoint.ts'
import { unknown_project } from '#contract/fault.ts'
import { pathParametersOf } from '#contract/openapi.ts'
import { removeToken } from '#server/identity/store.ts'
import { type Answer, newCall, type ServiceOrFault } from '#test/call.ts'
import { openCallers } from '#test/http/callers.ts'
import { type Row, rows, valid_bodies } from '#test/http/requests.ts'
import { startInRegion } from '#test/http/region.ts'
import { logIn, openPeople, type Person } from '#test/oauth/people.ts'
import { sampleOf } from '#test/sample.ts'
import { shared } from '#test/shared.ts'
import { fillProject, no_world, storedOf, type World } from './project-world.ts'

/** role: in our project; undefined where they have none. is_valid: whether their credential is one. */
type Caller = {
  what: string
  kind: 'user' | 'token' | 'none'
  role: Role | undefined
  is_valid: boolean
  credential: () => Promise<string | undefined>
  /** Of the other project, where they own that. */
  owns_theirs?: true
}

const installation = shared(startInRegion)
const people = shared(() => openPeople(installation))
const callers = shared(() => openCallers(installation))
let ours: World
let theirs: World
const all_callers: Caller[] = []

beforeAll(async () => {
  ours = await fillProject(callers.db, installation.project_id)
  theirs = await fillProject(callers.db, await callers.newProject())
  for (const role of roles) await addMembers(role)
  await addStrangers()
})

/** Each role as a person who has logged in, as a token of such a person, and as a token that an owner has limited to it. */
async function addMembers(role: Role): Promise<void> {
  const member = { role, is_valid: true } as const
  const person = await people.newPerson(role)
  all_callers.push({ ...member, what: `a user who is ${role}`, kind: 'user', credential: loginOf(person) })
  const { token } = await callers.newToken(role)
  all_callers.push({ ...member, what: `a token of a ${role}`, kind: 'token', credential: async () => token })
  const limited = await callers.newToken('owner', { token_role: role })
  const what = `a token of an owner, limited to ${role}`
  all_callers.push({ ...member, what, kind: 'token', credential: async () => limited.token })
}

async function addStrangers(): Promise<void> {
  const stranger = { role: undefined, is_valid: true, owns_theirs: true } as const
  const person = await people.newPerson('viewer')
  await callers.db.query('delete from members where user_id = $1', [person.user_id])
  await callers.db.query(`insert into members (project_id, user_id, role) values ($1, $2, 'owner')`, [
    theirs['project_id'],
    person.user_id,
  ])
  all_callers.push({ ...stranger, what: 'an owner of another project', kind: 'user', credential: loginOf(person) })
  const { token } = await callers.newToken('owner', { project_id: theirs['project_id'] ?? '' })
  const what = 'a token of an owner of another project'
  all_callers.push({ ...stranger, what, kind: 'token', credential: async () => token })

  const invalid = { role: undefined, is_valid: false, kind: 'none' } as const
  all_callers.push({ ...invalid, what: 'no credential', credential: async () => undefined })
  const expired = await callers.newToken('owner', { expires_at: new Date(Date.now() - 1000) })
  all_callers.push({ ...invalid, what: 'an owner’s expired token', credential: async () => expired.token })
  const revoked = await callers.newToken('owner')
  await removeToken(callers.db, revoked.public_key)
  all_callers.push({ ...invalid, what: 'an owner’s revoked token', credential: async () => revoked.token })
  const bent = (await callers.newToken('owner')).token.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A'))
  all_callers.push({ ...invalid, what: 'an owner’s token with one wrong letter', credential: async () => bent })
}

/** A login is used as long as it stands: some endpoints end it. */
function loginOf(person: Person): () => Promise<string> {
  let known: string | undefined
  return async () => {
    if (known !== undefined) {
      const info = await newCall(installation.server.api_url, known)('GET', '/auth/info')
      if (info.status === 200) return known
    }
    known = (await logIn(installation.server.public_url, person)).access_token
    return known
  }
}

/** Puts ids into the path of the endpoint; what no world has is an id of the common form that nothing has. */
function pathWith(row: Row, world: World): string {
  return row.endpoint.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => world[name] ?? 'nosuchid00')
}

async function send(row: Row, credential: string | undefined, world: World, body?: unknown) {
  return newCall(installation.server.api_url, credential)(row.endpoint.method, pathWith(row, world), body)
}

type Outcome = 'allowed' | 'UNAUTHORIZED' | 'FORBIDDEN' | 'unknown project'

/** What the contract says. in_theirs: whether the path names the other project. */
function promised({ endpoint: { access } }: Row, caller: Caller, where: 'ours' | 'theirs' | 'none'): Outcome {
  if (access === 'public') return 'allowed'
  if (!caller.is_valid) return 'UNAUTHORIZED'
  if (access === 'user') return caller.kind === 'user' ? 'allowed' : 'FORBIDDEN'
  if (!isRole(access)) return 'allowed'
  const role = where === 'ours' ? caller.role : where === 'theirs' && caller.owns_theirs ? 'owner' : undefined
  if (role === undefined) return 'unknown project'
  return roleAllows(role, access) ? 'allowed' : 'FORBIDDEN'
}

/** What came. Beyond the door: done, or refused for another reason than who asks. */
function outcomeOf({ status, body }: Answer<ServiceOrFault>): string {
  if (status === 404 && body.message === unknown_project) return 'unknown project'
  if ([200, 201, 202, 204, 400, 404, 409].includes(status)) return 'allowed'
  return body?.code ?? String(status)
}

test('every role there is, every kind of credential and every stranger is asked', () => {
  expect(all_callers.length).toBe(roles.length * 3 + 6)
  expect(rows.length).toBeGreaterThan(50)
})

describe.each(rows)('$name', (row) => {
  test('answers every caller as the contract says, in every project', async () => {
    // Empty: refused after the role was checked, where something is required. And below the project nothing exists.
    const body = row.endpoint.body === undefined ? undefined : {}
    const cells: [string, string][] = []
    const wanted: [string, Outcome][] = []
    const known = new Map<Caller, string | undefined>()
    const credentialOf = async (caller: Caller) => {
      // It ends the login that it is sent with.
      if (row.name === 'logout' || !known.has(caller)) known.set(caller, await caller.credential())
      return known.get(caller)
    }
    for (const where of ['ours', 'theirs', 'none'] as const) {
      const project_id = { ours, theirs, none: no_world }[where]['project_id'] ?? ''
      // A project that is not there is the same for all.
      for (const caller of where === 'none' ? sampleOf(all_callers, 6) : all_callers) {
        const answer = await send(row, await credentialOf(caller), { ...no_world, project_id }, body)
        cells.push([`${caller.what}, ${where}`, outcomeOf(answer)])
        wanted.push([`${caller.what}, ${where}`, promised(row, caller, where)])
      }
    }
    expect(cells).toEqual(wanted)
  })

  const parameters = pathParametersOf(row.endpoint.path)
  const below_project = parameters.slice(1)
  test.each(below_project)('does not know a %s of another project, and changes nothing of it', async (parameter) => {
    expect(theirs, `make one in fillProject, so that this can be asked`).toHaveProperty(parameter)
    const body = row.endpoint.body === undefined ? undefined : (valid_bodies[row.name] ?? {})
    const before = await storedOf(callers.db, theirs)
    const at = parameters.indexOf(parameter)
    const from = (world: World) => Object.fromEntries(parameters.slice(at).map((name) => [name, world[name] ?? '']))
    const owners = all_callers.filter(({ role }) => role === 'owner')
    for (const owner of owners) {
      const credential = await owner.credential()
      const foreign = await send(row, credential, { ...ours, ...from(theirs) }, body)
      const nothing = await send(row, credential, { ...ours, ...from(no_world) }, body)
      expect([foreign.status, foreign.body?.code]).toEqual([404, 'NOT_FOUND'])
      expect(foreign.body).toEqual(nothing.body)
    }
    expect(await storedOf(callers.db, theirs)).toEqual(before)
  })
})

test('a VPC of another project is none that a service can be attached to', async () => {
  const [attach] = rows.filter(({ name }) => name === 'attachToVpc')
  if (attach === undefined) throw new Error('attachToVpc is gone')
  const owner = await all_callers.find(({ role }) => role === 'owner')?.credential()
  const foreign = await send(attach, owner, ours, { vpc_id: theirs['vpc_id'] })
  const nothing = await send(attach, owner, ours, { vpc_id: no_world['vpc_id'] })
  expect([400, 404]).toContain(foreign.status)
  expect(foreign.body).toEqual(nothing.body)
})
