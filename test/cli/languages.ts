// Small programs around the lines by which programs connect, in every language that this machine has with its driver. Each opens all
// lines at once and asks all of them often enough for its driver to prepare the statement, which a pooler by transaction must survive.
// Nothing is downloaded. Rust's line alone is not run: compiling its driver takes longer than all the other tests of this folder.
import { execFile, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { ConnectionFormat } from '#contract/connection.ts'

type Language = {
  format: ConnectionFormat
  /** Empty where it can be run. */
  missing: string
  file: string
  command: readonly string[]
  source: (lines: readonly string[]) => string
  env?: Record<string, string>
}

const query = 'select current_user'
const turns = 8

/** What each line's session answered, in their order. */
export async function usersBy(language: Language, lines: readonly string[], folder: string): Promise<string[]> {
  const [program = '', ...words] = language.command
  const cwd = join(folder, language.format)
  mkdirSync(cwd, { recursive: true })
  writeFileSync(join(cwd, language.file), language.source(lines))
  if (language.format === 'go') writeFileSync(join(cwd, 'go.mod'), goModuleOf(go_driver ?? ''))
  const env = { ...process.env, ...language.env }
  const { stdout } = await promisify(execFile)(program, [...words, language.file], { cwd, env })
  return stdout.trim().split('\n')
}

const runs = (program: string, ...words: string[]) => spawnSync(program, words).status === 0
const skippedUnless = (found: boolean, what: string) => (found ? '' : ` (skipped: ${what})`)

const go_cache = spawnSync('go', ['env', 'GOMODCACHE'], { encoding: 'utf8' }).stdout?.trim() ?? ''
const go_offline = {
  GOFLAGS: '-mod=mod',
  GOPROXY: `file://${go_cache}/cache/download`,
  GOSUMDB: 'off',
  GOTOOLCHAIN: 'local',
}
const goModuleOf = (driver: string) =>
  `module lines\n\ngo 1.24\n\nrequire github.com/jackc/pgx/${driver.replace('@', ' ')}\n`
const go_driver = findGoDriver()

/** A version, such as `v5@v5.7.1`, that is in the cache with all that it needs. */
function findGoDriver(): string | undefined {
  const drivers = join(go_cache, 'github.com', 'jackc', 'pgx')
  if (go_cache === '' || !existsSync(drivers)) return undefined
  const cwd = mkdtempSync(join(tmpdir(), 'lines-'))
  try {
    writeFileSync(join(cwd, 'program.go'), 'package main\nimport _ "github.com/jackc/pgx/v5"\nfunc main() {}\n')
    const versions = readdirSync(drivers).filter((name) => name.startsWith('v5@'))
    return versions.findLast((version) => {
      writeFileSync(join(cwd, 'go.mod'), goModuleOf(version))
      const env = { ...process.env, ...go_offline }
      return spawnSync('go', ['list', '-deps', '.'], { cwd, env }).status === 0
    })
  } finally {
    rmSync(cwd, { recursive: true })
  }
}

const jdbc_driver = '/usr/share/java/postgresql.jar'

export const languages: readonly Language[] = [
  {
    format: 'python',
    missing: skippedUnless(
      runs('python3', '-c', 'import psycopg'),
      'python3 with psycopg is not installed; Debian has it as python3-psycopg',
    ),
    file: 'program.py',
    command: ['python3'],
    source: (lines) => `import psycopg
connections = [${lines.join(', ')}]
for turn in range(${turns}):
    users = []
    for connection in connections:
        users += connection.execute('${query}').fetchone()
        connection.commit()
print(*users, sep='\\n')
`,
  },
  {
    format: 'sqlalchemy',
    missing: skippedUnless(
      runs('python3', '-c', 'import psycopg, sqlalchemy'),
      'python3 with psycopg and SQLAlchemy is not installed; Debian has them as python3-psycopg and python3-sqlalchemy',
    ),
    file: 'program.py',
    command: ['python3'],
    source: (lines) => `from sqlalchemy import create_engine, text
connections = [engine.connect() for engine in [${lines.join(', ')}]]
for turn in range(${turns}):
    users = []
    for connection in connections:
        users += connection.execute(text('${query}')).fetchone()
        connection.commit()
print(*users, sep='\\n')
`,
  },
  {
    format: 'go',
    missing: skippedUnless(
      go_driver !== undefined,
      'go with pgx in its module cache is not installed; go get github.com/jackc/pgx/v5, in a module',
    ),
    file: 'program.go',
    command: ['go', 'run'],
    env: go_offline,
    source: (lines) => `package main
import (
  "context"
  "fmt"
  "github.com/jackc/pgx/v5"
)
func must(connection *pgx.Conn, err error) *pgx.Conn {
  if err != nil { panic(err) }
  return connection
}
func main() {
  ctx := context.Background()
  connections := []*pgx.Conn{${lines.map((line) => `must(${line})`).join(', ')}}
  users := make([]string, len(connections))
  for turn := 0; turn < ${turns}; turn++ {
    for at, connection := range connections {
      if err := connection.QueryRow(ctx, "${query}").Scan(&users[at]); err != nil { panic(err) }
    }
  }
  for _, user := range users { fmt.Println(user) }
}
`,
  },
  {
    format: 'jdbc',
    missing: skippedUnless(
      existsSync(jdbc_driver) && runs('java', '--version'),
      'java with its driver is not installed; Debian has it as libpostgresql-jdbc-java',
    ),
    file: 'Program.java',
    command: ['java', '-XX:TieredStopAtLevel=1', '-cp', jdbc_driver],
    source: (lines) => `import java.sql.*;
interface Program {
  static void main(String[] words) throws Exception {
    var lines = new String[] {${lines.map((line) => JSON.stringify(line)).join(', ')}};
    var queries = new PreparedStatement[lines.length];
    for (var at = 0; at < lines.length; at++)
      queries[at] = DriverManager.getConnection(lines[at]).prepareStatement("${query}");
    var users = new String[lines.length];
    for (var turn = 0; turn < ${turns}; turn++)
      for (var at = 0; at < lines.length; at++)
        try (var rows = queries[at].executeQuery()) { rows.next(); users[at] = rows.getString(1); }
    System.out.println(String.join("\\n", users));
  }
}
`,
  },
  {
    format: 'ruby',
    missing: skippedUnless(
      runs('ruby', '-e', 'require "pg"'),
      'ruby with pg is not installed; Debian has it as ruby-pg',
    ),
    file: 'program.rb',
    command: ['ruby'],
    source: (lines) => `require 'pg'
connections = [${lines.join(', ')}]
users = []
${turns}.times { users = connections.map { |connection| connection.exec_params('${query}', []).getvalue(0, 0) } }
puts users
`,
  },
  {
    format: 'php',
    missing: skippedUnless(
      runs('php', '-r', 'exit(extension_loaded("pdo_pgsql") ? 0 : 1);'),
      'php with pdo_pgsql is not installed; Debian has it as php-pgsql',
    ),
    file: 'program.php',
    command: ['php'],
    source: (lines) => `<?php
$connections = [${lines.join(', ')}];
$statements = array_map(fn ($connection) => $connection->prepare('${query}'), $connections);
for ($turn = 0; $turn < ${turns}; $turn++)
  $users = array_map(fn ($statement) => $statement->execute() ? $statement->fetchColumn() : '', $statements);
echo implode("\\n", $users);
`,
  },
  {
    format: 'postgres-js',
    missing: '',
    file: 'program.mjs',
    command: [process.execPath],
    source: (lines) => `import { readFileSync } from 'node:fs'
import postgres from ${JSON.stringify(import.meta.resolve('postgres'))}
const connections = [${lines.join(', ')}]
let users = []
for (let turn = 0; turn < ${turns}; turn += 1) {
  users = []
  for (const sql of connections) users.push((await sql\`${query}\`)[0].current_user)
}
console.log(users.join('\\n'))
await Promise.all(connections.map((sql) => sql.end()))
`,
  },
]
