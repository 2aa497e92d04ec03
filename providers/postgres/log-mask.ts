// Removes passwords from what PostgreSQL logged. Pure. PostgreSQL writes statements as they were sent, also wrong ones, so a
// password can stand in the message, the statement, the detail or the context, and next to a misspelt keyword. The rule
// is therefore blunt: a statement that is about roles or passwords is shown up to its first literal, or up to the
// word that announces a password, and no further. Better to hide too much of such a statement than show one password. A tenant
// chooses these texts, so every pattern takes time in proportion to their length, whatever they are.

export const masked = '[masked]'

export type LoggedTexts = {
  message: string
  detail: string
  hint: string
  context: string
  internal_query: string
  statement: string
  state_code: string
}

/** The same texts without passwords. */
export function withoutPasswords(texts: LoggedTexts): LoggedTexts {
  const all = [texts.message, texts.detail, texts.context, texts.internal_query, texts.statement]
  if (!all.some((text) => text !== '' && suspicious.test(text)) && texts.state_code !== syntax_error) return texts
  const about_roles = all.some((text) => sensitive.test(text))
  return {
    ...texts,
    message: maskMessage(texts.message, about_roles),
    detail: maskProse(texts.detail),
    hint: maskProse(texts.hint),
    context: maskProse(texts.context),
    internal_query: maskStatement(texts.internal_query, texts.state_code),
    statement: maskStatement(texts.statement, texts.state_code),
  }
}

const syntax_error = '42601'
/** Cheap and wide: only matching texts are examined closely. */
const suspicious = /pass|_readonly_role\b|\b(?:role|user|group)\b|:\/\/|identified|parameters?:? \$/i
/** A statement that sets, or may have been meant to set, a password. */
const sensitive = /passw|_readonly_role\b|\b(?:create|alter)\s+(?:role|user|group)\b|\bidentified\s+by\b/i
/** After this a misspelt word may announce a password, which need not be a literal. */
const role_named = /\b(?:create|alter)\s+(?:role|user|group)\s+\S+/i
const literal_start = /'|\$(?:[a-z_\u0080-\uffff][\w\u0080-\uffff]*)?\$/i
/** What PostgreSQL puts before a statement in a message: log_statement, durations, prepared statements, plans. */
const before_statement =
  /^(?:duration: [\d.]+ ms {2})?(?:statement|parse|bind|execute|execute fetch from|fastpath function call|plan|prepare)\b[^:]*:\s/

function maskMessage(message: string, about_roles: boolean): string {
  const announced = before_statement.exec(message)?.[0].length
  if (announced !== undefined) return message.slice(0, announced) + maskStatement(message.slice(announced), '')
  // `syntax error at or near "…"` repeats a piece of the statement, which may be the password itself.
  const near = about_roles ? message.replace(/(at or near ")[\s\S]*"/, `$1${masked}"`) : maskQuotedNear(message)
  return maskProse(near)
}

/** A piece that starts with a quote is a literal, whatever the statement was meant to be. */
function maskQuotedNear(message: string): string {
  return message.replace(/(at or near ")['$E][\s\S]*"/, (whole, before: string) =>
    literal_start.test(whole.slice(before.length)) ? `${before}${masked}"` : whole,
  )
}

function maskStatement(statement: string, state_code: string): string {
  if (statement === '') return statement
  const literal_at = literal_start.exec(statement)?.index ?? Infinity
  if (!sensitive.test(statement)) {
    // Misspelt beyond recognition: of a statement that cannot be parsed no literal is shown.
    if (state_code === syntax_error && literal_at < Infinity) return cutAt(statement, literal_at)
    return maskConnections(statement)
  }
  const word =
    /passw\w*|\bidentified\s+by\b/i.exec(statement) ?? (state_code === syntax_error ? role_named.exec(statement) : null)
  const word_end = word === null ? Infinity : word.index + word[0].length
  return maskConnections(cutAt(statement, Math.min(literal_at, word_end)))
}

/** Sentences around which a statement may be quoted, such as a context: `SQL statement "alter role …"`. */
function maskProse(text: string): string {
  // Values bound to a statement are logged where a setting asks for it; any of them may be a password.
  const parameters_at = text.search(/parameters?:? \$\d+ = /i)
  if (parameters_at >= 0) return `${maskProse(text.slice(0, parameters_at))}${masked}`
  const statement_at = /\b(?:create|alter)\s+(?:role|user|group)\b|passw\w{0,64}\s*(?:=\s*)?(?:'|\$\w{0,64}\$)/i.exec(
    text,
  )?.index
  if (statement_at !== undefined) {
    return text.slice(0, statement_at) + maskStatement(text.slice(statement_at), '')
  }
  const announcement = before_statement.exec(text) ?? /\bSQL (?:statement|expression) "/.exec(text)
  if (announcement !== null) {
    const at = announcement.index + announcement[0].length
    return text.slice(0, at) + maskStatement(text.slice(at), '')
  }
  return maskConnections(text)
}

/** Connection strings, in both of their forms. */
function maskConnections(text: string): string {
  return text
    .replaceAll(/(passw(?:or)?d\s*=\s*)(?:'(?:[^'\\]|\\.|'')*'?|[^\s'"&;]+)/gi, `$1${masked}`)
    .replaceAll(/:\/\/[^\s'"]*/g, maskUri)
}

/** From `://` on, as far as it goes: a password stands between the colon after the user and the last @. */
function maskUri(uri: string): string {
  const before = /:\/\/[^:/@]*:/.exec(uri)
  const from = before === null ? Infinity : before.index + before[0].length
  const to = uri.lastIndexOf('@')
  return from < to ? uri.slice(0, from) + masked + uri.slice(to) : uri
}

function cutAt(text: string, at: number): string {
  if (at >= text.length) return text
  const kept = text.slice(0, at)
  return `${kept}${/\s$/.test(kept) || kept === '' ? '' : ' '}${masked}`
}
