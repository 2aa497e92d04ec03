// The certificate of a server's authority, as a file for clients that verify: fetched anew each time, because a server may change it.
import { cacheFile, findText, saveText } from './files.ts'
import type { Session } from './session.ts'

/** The path of the file; left out: where this command keeps it. */
export async function ensureCa({ client, api_url }: Session, path?: string): Promise<string> {
  const pem = await client.getCaCertificate({})
  const file = path ?? cacheFile(`ca-${new URL(api_url).host.replaceAll(/[^\w.-]/g, '_')}.pem`)
  if ((await findText(file)) !== pem) await saveText(file, pem)
  return file
}
