// How the API server of a cell is reached and as whom: from a kubeconfig, YAML or JSON, or inside a cluster from the account of the Pod.
// Certificates, tokens, token files and exec plugins are read; other ways to log in are refused by name. Nothing read here is printed: what
// fails here is told to the owners of services.
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { basename, dirname, resolve } from 'node:path'
import { promisify } from 'node:util'
import { NoAnswer } from './errors.ts'

/** All that a connection needs. */
export type Access = {
  server: string
  ca?: string | undefined
  cert?: string | undefined
  key?: string | undefined
  token?: string | undefined
  servername?: string | undefined
}

export type KubeconfigSource = { kubeconfig?: string | undefined; context?: string | undefined }

/** The account that Kubernetes gives a Pod. */
const pod_account = '/var/run/secrets/kubernetes.io/serviceaccount'
const exec_timeout_ms = 30_000
const other_logins = ['auth-provider', 'as']
const known_logins = 'give it a certificate, a token, a token file or an exec plugin'

export async function readAccess({ kubeconfig, context }: KubeconfigSource): Promise<Access> {
  if (kubeconfig === undefined) return await readPodAccess()
  const config = members(await parsed(kubeconfig))
  const name = context ?? text(config['current-context'])
  if (name === undefined) throw new Error(`${kubeconfig} has no current-context; name one with context`)
  const chosen = named(config['contexts'], name, 'context', kubeconfig)
  const cluster = named(config['clusters'], text(chosen['cluster']) ?? '', 'cluster', kubeconfig)
  const user = named(config['users'], text(chosen['user']) ?? '', 'user', kubeconfig)
  const server = text(cluster['server'])
  if (server === undefined) throw new Error(`the cluster of context ${name} in ${kubeconfig} has no server`)
  const strange = other_logins.find((one) => user[one] !== undefined)
  if (strange !== undefined)
    throw new Error(`the user of context ${name} in ${kubeconfig} has ${strange}; ${known_logins}`)
  if (hasPassword(user) && !hasCertificateAlone(user))
    throw new Error(
      `the user of context ${name} in ${kubeconfig} has a username and password, which no API server accepts since Kubernetes 1.19; remove them, and ${known_logins}`,
    )
  const near = dirname(resolve(kubeconfig))
  const login = user['exec'] === undefined ? user : { ...user, ...(await runExec(members(user['exec']), near)) }
  return {
    server,
    ca: await material(cluster, 'certificate-authority', near),
    cert: await material(login, 'client-certificate', near),
    key: await material(login, 'client-key', near),
    token: text(login['token']) ?? (await fileOf(login['tokenFile'], near))?.trim(),
    servername: text(cluster['tls-server-name']),
  }
}

const hasPassword = (user: Members): boolean => ['username', 'password'].some((name) => text(user[name]) !== undefined)

/** As kubectl has it: an API server passes over the password beside a certificate, and a password beside a token is an error. */
const hasCertificateAlone = (user: Members): boolean =>
  ['client-certificate', 'client-certificate-data'].some((name) => text(user[name]) !== undefined) &&
  ['token', 'tokenFile', 'exec'].every((name) => user[name] === undefined)

async function readPodAccess(): Promise<Access> {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port = '443' } = process.env
  if (host === undefined) throw new Error('the region has no kubeconfig, and this server runs in no Pod')
  const [ca, token] = await Promise.all([
    readFile(`${pod_account}/ca.crt`, 'utf8'),
    readFile(`${pod_account}/token`, 'utf8'),
  ])
  const name = host.includes(':') ? `[${host}]` : host
  return { server: `https://${name}:${port}`, ca, token: token.trim() }
}

type Members = Record<string, unknown>

/** JSON is YAML, so the reader of YAML is loaded for other files only. */
async function parsed(path: string): Promise<unknown> {
  const content = await readFile(path, 'utf8')
  const problem = 'its kubeconfig is neither YAML nor JSON'
  if (content.trimStart().startsWith('{')) return parsedBy((json) => JSON.parse(json), content, problem)
  const { parse } = await import('yaml')
  return parsedBy((yaml) => parse(yaml), content, problem)
}

/** What a parser says quotes the text. */
function parsedBy(parse: (content: string) => unknown, content: string, problem: string): unknown {
  try {
    return parse(content)
  } catch {
    throw new NoAnswer(problem)
  }
}

/** An object by the check; its members are checked one by one. */
const members = (value: unknown): Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Members) : {}

const text = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined)

function named(list: unknown, name: string, kind: 'context' | 'cluster' | 'user', path: string): Members {
  const entries: unknown[] = Array.isArray(list) ? list : []
  const found = entries.map(members).find((entry) => entry['name'] === name)
  if (found === undefined) throw new Error(`${path} has no ${kind} ${JSON.stringify(name)}`)
  return members(found[kind])
}

/** As data in the file itself, or in a file beside it. */
async function material(of: Members, name: string, near: string): Promise<string | undefined> {
  const data = text(of[`${name}-data`])
  return data === undefined ? await fileOf(of[name], near) : Buffer.from(data, 'base64').toString()
}

async function fileOf(path: unknown, near: string): Promise<string | undefined> {
  const name = text(path)
  return name === undefined ? undefined : await readFile(resolve(near, name), 'utf8')
}

/** A program that prints a credential, as cloud providers have. */
async function runExec(exec: Members, near: string): Promise<Members> {
  const command = text(exec['command']) ?? ''
  const args = (Array.isArray(exec['args']) ? exec['args'] : []).map(String)
  const pairs = (Array.isArray(exec['env']) ? exec['env'] : []).map(members)
  const env = Object.fromEntries(pairs.map(({ name, value }) => [String(name), String(value)]))
  const info = { apiVersion: exec['apiVersion'], kind: 'ExecCredential', spec: { interactive: false } }
  const program = `the program ${basename(command)} of its kubeconfig`
  const { stdout } = await promisify(execFile)(command, args, {
    cwd: near,
    env: { ...process.env, ...env, KUBERNETES_EXEC_INFO: JSON.stringify(info) },
    timeout: exec_timeout_ms,
  }).catch((error: unknown) => {
    // Its message has the arguments, and what the program printed.
    const { code, signal } = Object(error) as { code?: unknown; signal?: unknown }
    throw new NoAnswer(`${program} failed (${String(code ?? signal)})`)
  })
  const credential = parsedBy((json) => JSON.parse(json), stdout, `${program} printed no credential`)
  const status = members(members(credential)['status'])
  const encoded = (value: unknown) => (text(value) ? Buffer.from(String(value)).toString('base64') : undefined)
  return {
    token: status['token'],
    'client-certificate-data': encoded(status['clientCertificateData']),
    'client-key-data': encoded(status['clientKeyData']),
  }
}
