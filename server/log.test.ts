// Nothing secret passes the log.
import { expect, test } from 'vitest'
import { newLog } from './log.ts'

function logged(write: (log: ReturnType<typeof newLog>) => void): string {
  const lines: string[] = []
  write(newLog('debug', { write: (line: string) => void lines.push(line) }))
  return lines.join('')
}

test.each([
  'password',
  'initial_password',
  'password_verifier',
  'secret_key',
  'token',
  'authorization',
  'database_url',
])('a field named %s never reaches the log, at the top or below', (field) => {
  const secret = 'hunter2'
  const text = logged((log) =>
    log.info({ [field]: secret, request: { [field]: secret, headers: { [field]: secret } }, port: 1 }, 'a fact'),
  )
  expect(text).not.toContain(secret)
  expect(JSON.parse(text)).toMatchObject({ level: 'info', port: 1, msg: 'a fact', [field]: '[secret]' })
})

test('of an error only kind, message, code, stack and causes are written', () => {
  const error = Object.assign(new Error('duplicate key', { cause: new Error('below') }), {
    code: '23505',
    detail: 'Failing row contains (hunter2)',
  })
  const text = logged((log) => log.error({ err: error }, 'it failed'))
  expect(text).not.toContain('hunter2')
  expect(JSON.parse(text)).toMatchObject({
    err: { message: 'duplicate key', code: '23505', cause: { message: 'below' } },
  })
})

test('a cause that is no error is not written', () => {
  const refused = { body: { access_token: 'hunter2' } }
  const error = new Error('above', { cause: new Error('below', { cause: refused }) })
  const text = logged((log) => log.warn({ err: error }, 'it failed'))
  expect(text).not.toContain('hunter2')
  expect(JSON.parse(text)).toMatchObject({ err: { message: 'above', cause: { message: 'below' } } })
})
