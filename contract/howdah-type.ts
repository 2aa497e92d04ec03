// The types of the client for programs, all of them from the table: which collections there are, which verbs, what they take and answer.
import type { Api, EndpointName } from './api.ts'
import type { Client } from './client.ts'
import type { BodyOf, Endpoint, EntryOf, OutputOf, QueryOf } from './endpoint.ts'
import type { Service } from './service.ts'
import type { Camel, CollectionBelow, CollectionPath, ItemPath, LastWord, VerbAt, VerbOfWord, Word } from './verbs.ts'

export type Howdah = Collections<''> &
  Collections<ProjectPath> &
  Words & {
    /** The project of the options. */
    project: Verbs<ProjectPath>
    /** A function for every endpoint, by its name. */
    client: Client
  }

export type Manner = {
  /** False: answer when the server has accepted it; `settled()` of a service waits. */
  wait?: boolean
  timeout_ms?: number
  signal?: AbortSignal
  /** A second request with the same key gets the answer of the first. */
  idempotency_key?: string
}

export type ServicesPath = '/projects/{project_id}/services'
type ProjectPath = '/projects/{project_id}'

type Collections<P extends string> = { [C in CollectionBelow<P> as Camel<LastWord<C>>]: Collection<C> }

export type Collection<C extends CollectionPath> = CollectionVerbs<C> & {
  /** By its id, without a request. */
  at(id: string): Handle<C>
} & (C extends ServicesPath ? { temporary(given?: TemporaryGiven): Promise<Temporary> } : unknown)

type CollectionVerbs<C extends CollectionPath> = {
  [Name in EndpointName as VerbAt<C, Api[Name]>]: Call<
    Api[Name],
    VerbAt<C, Api[Name]> extends 'list' ? Item<C>[] : Item<C, OutputOf<Api[Name]>>,
    Name
  >
}

/** The verbs of one item, and the collections below it. */
export type Handle<C extends CollectionPath> = Verbs<ItemPath<C>> &
  Collections<ItemPath<C>> &
  (C extends ServicesPath ? Settling : unknown)

/** What the API answers, with the verbs beside it. They are not enumerable: an answer prints and compares as it came. */
export type Item<C extends CollectionPath, Data = ListedIn<C>> = Data & Handle<C>

export type ServiceItem = Item<ServicesPath, Service>

type Settling = {
  /** The service when nothing is under way any more. */
  settled(manner?: Manner): Promise<ServiceItem>
}

type ListedIn<C extends CollectionPath> = {
  [Name in EndpointName]: 'list' extends VerbAt<C, Api[Name]> ? ListedBy<OutputOf<Api[Name]>> : never
}[EndpointName]
type ListedBy<Output> = Output extends readonly (infer One)[] ? One : never

type Verbs<P extends string> = {
  [Name in EndpointName as VerbAt<P, Api[Name]>]: Streaming<Api[Name]> &
    Call<Api[Name], Answer<OutputOf<Api[Name]>>, Name>
}

/** An answer that is a service has the verbs of a service. */
type Answer<Output> = Output extends Service ? ServiceItem : Output

type Words = { [W in Word]: WordVerbs<W> }

type WordVerbs<W extends Word> = {
  [Name in EndpointName as VerbOfWord<W, Api[Name]['path']>]: Call<Api[Name], OutputOf<Api[Name]>>
}

type Call<E extends Endpoint, Result, Name = ''> = [Given<E, Name>] extends [undefined]
  ? (manner?: Manner) => Promise<Result>
  : object extends Given<E, Name>
    ? (given?: Given<E, Name>, manner?: Manner) => Promise<Result>
    : (given: Given<E, Name>, manner?: Manner) => Promise<Result>

/** The members of the body, or else of the query. */
type Given<E extends Endpoint, Name> = Name extends 'forkService'
  ? ForkGiven
  : Name extends 'createService'
    ? CreateGiven
    : [BodyOf<E>] extends [undefined]
      ? QueryOf<E>
      : BodyOf<E>

type ForkBody = BodyOf<Api['forkService']>

/** `expires_in`: instead of `expires_at`, such as 2h. */
export type CreateGiven = BodyOf<Api['createService']> & { expires_in?: string }

/** Without a moment: as the parent is now. */
export type ForkGiven = Partial<ForkBody> & {
  /** For PITR. */
  at?: Date | string
  expires_in?: string
}

/** With `follow: true` a list goes on, its oldest entry first, over interruptions, until its signal or `break` ends it. */
type Streaming<E extends Endpoint> = E extends { streams: true }
  ? (given: QueryOf<E> & { follow: true }, manner?: Manner) => AsyncIterable<EntryOf<E>>
  : unknown

/** A service for as long as a scope lasts. */
export type TemporaryGiven = ForkGiven & {
  /** Its parent, or the id of it; left out: an empty database. */
  from?: string | Pick<Service, 'service_id'>
}

export type Temporary = ServiceItem & { initial_password: string; [Symbol.asyncDispose](): Promise<void> }
