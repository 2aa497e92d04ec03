// No password gets through, in whatever part of an entry and however misspelt its statement; what is useful stays.
import { describe, expect, test } from 'vitest'
import { line_bytes_max } from '../local/log/blocks.ts'
import { type LoggedTexts, withoutPasswords } from './log-mask.ts'

const secret = 'S3cr3t-Pa55'
const nothing: LoggedTexts = {
  message: 'an error',
  detail: '',
  hint: '',
  context: '',
  internal_query: '',
  statement: '',
  state_code: '',
}
const shown = (texts: Partial<LoggedTexts>) => Object.values(withoutPasswords({ ...nothing, ...texts })).join('\n')

const statements = [
  `CREATE ROLE bob LOGIN PASSWORD '${secret}'`,
  `create user bob encrypted password '${secret}' valid until '2030-01-01'`,
  `ALTER ROLE bob PASSWORD E'\\x41${secret}'`,
  `ALTER USER bob WITH PASSWORD $$${secret}$$`,
  `ALTER USER bob WITH PASSWORD $tag$${secret}$tag$`,
  `ALTER ROLE bob PASSWORD U&'${secret}'`,
  `ALTER ROLE bob PASSWORD ${secret}`,
  `ALTER ROLE bob PASSWORD "${secret}"`,
  `ALTER ROLE bob PASSWORD'${secret}'`,
  `ALTER ROLE bob PASSWORD /* the new one */ '${secret}'`,
  `ALTER ROLE bob PASWORD '${secret}'`,
  `ALTER\n  ROLE bob\n  PASSWORD\n  '${secret}'`,
  `begin; alter role bob password '${secret}'; commit`,
  `do $$ begin execute format('alter role bob password %L', '${secret}'); end $$`,
  `create user mapping for bob server s options (user 'bob', password '${secret}')`,
  `alter role bob password 'it''s \\' || '${secret}'`,
  `select set_password('bob', '${secret}')`,
  `select timescale_functions.create_bare_readonly_role('bob', '${secret}')`,
  `create subscription s connection 'host=h password=${secret}' publication p`,
  `select dblink_connect('postgres://bob:${secret}@h/db')`,
  `ALTER USER bob IDENTIFIED BY '${secret}'`,
  `ALTER ROLE bob PASSWORD '${secret}`,
]

describe.each(statements)('%s', (statement) => {
  test.each([
    ['as a failed statement', { statement }],
    ['as logged DDL', { message: `statement: ${statement}` }],
    ['as a slow statement', { message: `duration: 1234.567 ms  statement: ${statement}` }],
    ['as an executed statement', { message: `execute <unnamed>: ${statement}` }],
    ['as a prepared statement', { message: 'execute p', detail: `prepare: prepare p as ${statement}` }],
    ['inside a function', { context: `SQL statement "${statement}"\nPL/pgSQL function f() line 3 at EXECUTE` }],
    ['as an internal query', { internal_query: statement }],
    ['as a plan', { message: `duration: 1.0 ms  plan:\nQuery Text: ${statement}` }],
  ])('%s', (_, texts) => {
    expect(shown(texts)).not.toContain(secret)
  })
})

test.each([
  [`ALTER ROLE bob PASSWORD ${secret}`, `syntax error at or near "${secret}"`],
  [`ALTER ROLE bob PASSWORD "${secret}"`, `syntax error at or near ""${secret}""`],
  [`ALTR ROLE bob PASWRD '${secret}'`, 'syntax error at or near "ALTR"'],
  [`ALTER ROLE bob PASWORD ${secret}`, 'syntax error at or near "PASWORD"'],
  [`create user "bob" LOGIN PASWORD "${secret}"`, 'syntax error at or near "PASWORD"'],
  [`ALTER RLE bob PASWRD '${secret}`, `unterminated quoted string at or near "'${secret}"`],
])('a syntax error in %s shows no part of it', (statement, message) => {
  expect(shown({ statement, message, state_code: '42601' })).not.toContain(secret)
})

test.each([
  [{ detail: `Parameters: $1 = 'bob', $2 = '${secret}'` }],
  [{ context: `PL/pgSQL function f() line 3 at PERFORM\nunnamed portal with parameters: $1 = '${secret}'` }],
  [
    {
      context: `SQL statement "SELECT 1/0"\nPL/pgSQL function f() line 1\nportal "p" with parameters: $1 = '${secret}'`,
    },
  ],
  [{ context: `portal "p" parameter $2 = '${secret}'` }],
  [{ context: `SQL statement "alter role bob password '${secret}'"\nportal "p" with parameters: $1 = '${secret}'` }],
])('values bound to a statement are not shown: %j', (texts) => {
  expect(shown({ statement: 'select f($1, $2)', ...texts })).not.toContain(secret)
})

test.each([
  `could not connect: postgres://bob:${secret}@h/db`,
  `could not connect: postgres://bob:p@${secret}@h/db`,
  `could not connect: postgres://h/db?user=bob&password=${secret}&x=y`,
  `invalid option in "host=h sslpassword=${secret}"`,
  `invalid option in "host=h password = '${secret} it\\'s'"`,
])('%s has no password any more', (message) => {
  expect(shown({ message })).not.toContain(secret)
  expect(shown({ detail: message })).not.toContain(secret)
})

describe('no text is slow to mask', () => {
  // As long as a line may be; some patterns would need minutes for it if they read a part of it again and again.
  const pieces = ['://', '://a:', '://a:b@', 'passw', 'passwd ', `passwd='`, 'passwd$', 'at or near "', 'at or near "E']
  const more = ['create role ', 'alter ', ' ', '$a', 'SQL statement "', 'statement: ', 'identified ', '\\', `'`]
  test.each([...pieces, ...more])('%j again and again', (piece) => {
    const text = `user ${piece.repeat(line_bytes_max / piece.length)}`
    for (const state_code of ['', '42601']) {
      for (const field of ['message', 'context', 'statement']) {
        expect(shown({ [field]: text, state_code })).toMatch(/^user|^an error/)
      }
    }
  })
})

test('a role statement is still recognised', () => {
  const { message } = withoutPasswords({ ...nothing, message: `statement: CREATE ROLE bob LOGIN PASSWORD '${secret}'` })
  expect(message).toBe('statement: CREATE ROLE bob LOGIN PASSWORD [masked]')
})

test.each([
  'password authentication failed for user "bob"',
  'role "bob" does not exist',
  'permission denied to create role',
  'column "password" does not exist',
  'syntax error at or near "FORM"',
  'connection authorized: user=bob database=tsdb application_name=psql SSL enabled (protocol=TLSv1.3)',
  `statement: create table users (name text default 'unknown')`,
])('%s stays as it is', (message) => {
  expect(withoutPasswords({ ...nothing, message }).message).toBe(message)
})

test('the reason of a refused login stays as it is', () => {
  const detail =
    'User "bob" has no password assigned.\nConnection matched file "pg_hba.conf" line 4: "hostssl all all all scram-sha-256"'
  expect(withoutPasswords({ ...nothing, detail }).detail).toBe(detail)
})
