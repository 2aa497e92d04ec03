// The refusals and silences of an API server, as errors with words for people.
export class ApiError extends Error {
  override readonly name = 'ApiError'
  readonly status: number
  readonly reason: string
  constructor(status: number, reason: string, message: string) {
    super(message)
    this.status = status
    this.reason = reason
  }
}

/** No answer came: nothing is known, and nothing may be concluded. */
export class NoAnswer extends Error {
  override readonly name = 'NoAnswer'
}

export const isStatus = (error: unknown, ...statuses: readonly number[]): error is ApiError =>
  error instanceof ApiError && statuses.includes(error.status)

/** From the `Status` object of a refused request. */
export function apiErrorOf(status: number, body: string): ApiError {
  const { reason, message } = parsed(body)
  return new ApiError(status, reason ?? '', message ?? `the API server answered ${status}`)
}

/** The sentence for the owner of a service; undefined: not of this kind, and the caller must not hide it. */
export function sentenceOf(error: unknown, region: string): string | undefined {
  if (error instanceof NoAnswer)
    return `region ${region} does not answer (${error.message}); the databases go on running`
  if (!(error instanceof ApiError)) return undefined
  if (error.status === 401)
    return `the API server of region ${region} does not accept the account of its kubeconfig; renew it`
  if (error.status === 403 && error.message.includes('because it is being terminated'))
    return 'its namespace is being removed'
  if (error.status === 403) return `Howdah's account lacks a right in region ${region}: ${error.message}`
  if (error.status === 409) return 'an object was changed at the same moment; it is tried again'
  if (error.status === 422 || error.status === 400) return `region ${region} refused an object: ${error.message}`
  return `the API server of region ${region} answered ${error.status}: ${error.message}`
}

function parsed(body: string): { reason?: string; message?: string } {
  try {
    const value: unknown = JSON.parse(body)
    if (typeof value !== 'object' || value === null) return {}
    const reason = 'reason' in value && typeof value.reason === 'string' ? value.reason : undefined
    const message = 'message' in value && typeof value.message === 'string' ? value.message : undefined
    return { ...(reason && { reason }), ...(message && { message: message.slice(0, message_chars_max) }) }
  } catch {
    return {}
  }
}

const message_chars_max = 1_000
