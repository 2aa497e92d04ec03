// What a handler gets and gives: typed by its row of the contract's table. A missing handler is a compile error.
import type { Api, EndpointName, StreamName } from '#contract/api.ts'
import type { Access, BodyOf, Endpoint, EntryOf, OutputOf, ParamsOf, QueryOf, Role } from '#contract/endpoint.ts'
import type { FaultCode } from '#contract/fault.ts'
import type { Problem } from '#contract/problem.ts'
import type { Db } from '../store/db.ts'

export type User = { id: string; email: string; name: string }

/** A verified caller: a token, which acts for its issuer within one project, or a person who has logged in. */
export type Caller = TokenCaller | UserCaller

export type TokenCaller = {
  type: 'apiKey'
  public_key: string
  name: string
  created: Date
  expires_at: Date | null
  user: User
  project: { id: string; name: string }
  /** What it may do now: the lower one of its own role and its issuer's. */
  role: Role
  /** Its own role; null: always its issuer's. */
  role_limit: Role | null
}

/** Their role is a matter of membership, project by project. */
export type UserCaller = {
  type: 'oauth'
  user: User
  /** The login of the token, where that can end. */
  grant_id?: string
}

export type Callers = {
  /** The caller of the `Authorization` header; undefined when it is no valid credential. */
  identify(authorization: string | undefined): Promise<Caller | undefined>
  /** Undefined where the caller does not belong to the project. */
  roleIn(caller: Caller, project_id: string): Promise<Role | undefined>
  forget(): void
}

/** What the handlers of users, projects and their tokens are given. */
export type AccessParts = { db: Db; callers: Callers }

/** What is public has none. */
type CallerOf<Who extends Access> = Who extends 'public' ? undefined : Who extends 'user' ? UserCaller : Caller

/**
 * Where the status of the service matters, its place in the path carries the statuses that accept the request: what locks the
 * service by its place (lockService) checks them, and no handler can forget to.
 */
type AcceptsOf<Row> = Row extends { accepts: infer Accepts } ? { accepts: Accepts } : unknown

export type HandlerRequest<Name extends EndpointName> = {
  caller: CallerOf<Api[Name]['access']>
  /** The caller's role in the project of the path. */
  role: Api[Name]['access'] extends Role ? Role : undefined
  params: ParamsOf<Api[Name]> & AcceptsOf<Api[Name]>
  query: QueryOf<Api[Name]>
  body: BodyOf<Api[Name]>
  idempotency_key: string | undefined
  /** How long the answer may wait until nothing is under way any more. */
  wait_seconds: number
}

export type Handler<Name extends EndpointName> = (request: HandlerRequest<Name>) => Promise<AnswerOf<Name>>

/** Of a list that may be cut: with the cursor of what follows, if anything does. */
type AnswerOf<Name extends EndpointName> = Api[Name] extends { pages: true }
  ? Page<OutputOf<Api[Name]>>
  : OutputOf<Api[Name]>
export type Page<List> = { list: List; next_cursor: string | undefined }

/**
 * What a request breaks beyond its schemas, of those members that they accept: called when they refuse others, so that one
 * answer tells of everything. A problem names every member that it depends on, such as /to that must be later than /from.
 */
export type Check<Name extends EndpointName> = (request: Checked<Name>, problems: Problem[]) => unknown

type Checked<Name extends EndpointName> = Pick<HandlerRequest<Name>, 'params' | 'caller'> & {
  body: Partial<BodyOf<Api[Name]>>
  query: Partial<QueryOf<Api[Name]>>
}

export type Checks = { [Name in EndpointName]?: Check<Name> }

export type Handlers = { [Name in EndpointName]: Handler<Name> }

/** A list that goes on. Positions are opaque to all but their own list; a client sends one back to resume a stream. */
export type Tail<Name extends StreamName> = {
  /** The entries after the position, oldest first, as many as are read at once; without a position it begins as the list does. */
  read(request: HandlerRequest<Name>, after: string | undefined): Promise<TailPage<EntryOf<Api[Name]>>>
  /** Calls back when there may be more; where it is absent, or was called before, time tells. */
  watch?(request: HandlerRequest<Name>, onNews: () => void): () => void
}

/** `at`: where the next read goes on. It moves without entries when those that were read do not match the request. */
export type TailPage<Entry> = { entries: readonly { id: string; entry: Entry }[]; at: string | undefined }

export type Tails = { [Name in StreamName]: Tail<Name> }

/** How a request ended, for the audit log. */
export type Outcome = {
  name: EndpointName
  endpoint: Endpoint
  caller: Caller | undefined
  /** In the project of the path; undefined: the caller does not belong to it, or the path names none. */
  role: Role | undefined
  params: Readonly<Record<string, string>>
  /** What the handler answered; undefined for a refusal. */
  output: unknown
  status: number
  code: FaultCode | undefined
  address: string
  user_agent: string | undefined
  request_id: string
}

export type RecordOutcome = (outcome: Outcome) => Promise<void>
