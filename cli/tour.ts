// The first tour: shell lines that create a service, wait for it and open psql. Ready to paste: plain sh, curl and the
// values filled in. The password is taken from the create answer, the only place where it is ever shown.

export type Tour = {
  /** Ends in /public/api/v1. */
  url: string
  project_id: string
  token: string
}

export function tourOf({ url, project_id, token }: Tour): string[] {
  return [
    `services=${url}/projects/${project_id}/services`,
    `auth='Authorization: Bearer ${token}'`,
    `answer=$(curl -sS "$services" -H "$auth" -H 'Content-Type: application/json' -d '{"name":"first"}')`,
    `echo "$answer"`,
    String.raw`field() { echo "$answer" | sed -nE "s/.*\"$1\":\"?([^\",}]*).*/\1/p"; }`,
    `export PGPASSWORD=$(field initial_password)`,
    `curl -sS "$services/$(field service_id)" -H "$auth" -H 'Prefer: wait=30'; echo`,
    `curl -sS ${url}/ca.pem -o howdah-ca.pem`,
    `psql "host=$(field host) port=$(field port) user=tsdbadmin dbname=tsdb sslmode=verify-full sslrootcert=howdah-ca.pem"`,
  ]
}
