// What a handler gets and gives: typed by its row of the contract's table. A missing handler is a compile error.
import type { Api, EndpointName } from '#contract/api.ts'
import type { BodyOf, OutputOf, ParamsOf, QueryOf, Role } from '#contract/endpoint.ts'

/** A verified caller. A personal access token acts for its issuer, within one project. */
export type Caller = {
  type: 'apiKey'
  public_key: string
  name: string
  created: Date
  user: { id: string; email: string; name: string }
  project: { id: string; name: string }
  role: Role
}

export type HandlerRequest<Name extends EndpointName> = {
  caller: Caller
  params: ParamsOf<Api[Name]>
  query: QueryOf<Api[Name]>
  body: BodyOf<Api[Name]>
  idempotency_key: string | undefined
  request_id: string
}

export type Handler<Name extends EndpointName> = (request: HandlerRequest<Name>) => Promise<OutputOf<Api[Name]>>

export type Handlers = { [Name in EndpointName]: Handler<Name> }
