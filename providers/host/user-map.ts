// The users of an isolated installation: an ordinary user's own id and its sub ids, as one user namespace maps them. Pure.
// 1. Inside, the ids are those that root gives: 0 is the user that runs the server, 70000 the metadata store, 70000 + port a service.
// 2. A port has the same sub id for ever, whatever the settings are: it is written into the owners of files.
// 3. The last id belongs to no process. It differs between installations, and only the user's own newuidmap can map it: a process
//    whose namespace has this map is one of this installation.

export type Owner = { uid: number; gid: number }

/** The metadata store's; a service has this one plus its port. */
export const first_service_uid = 70_000

/** initdb needs a user that exists; this one, with the last 16-bit id, does everywhere. */
export const unprivileged: Owner = { uid: 65_534, gid: 65_534 }

/** Each as newuidmap takes it and /proc shows it: first id inside, first id outside, count, and so on; one space between. */
export type UserMap = { uids: string; gids: string }

export type SubIds = { first: number; count: number }

/** Services have no lower one, so the first sub ids are free for the store and for the unprivileged user. */
export const first_port = 1024
const ports = 65_536
const form = /^0 \d+ 1 65534 \d+ 1 70000 \d+ 1 71024 \d+ (\d+) 1\d{9} \d+ 1$/

/** The mark is the id that belongs to no process. */
export const marks = { first: 1_000_000_000, end: 2_000_000_000 }

export function newUserMap(own: Owner, sub: { uids: SubIds; gids: SubIds }, mark: number): UserMap {
  return { uids: idsOf(own.uid, sub.uids, mark), gids: idsOf(own.gid, sub.gids, mark) }
}

/** The installation's user outside the namespace. */
export function ownerOf({ uids, gids }: UserMap): Owner {
  const [uid = 0, gid = 0] = [uids, gids].map((ids) => Number(ids.split(' ')[1]))
  return { uid, gid }
}

/** How many sub ids it takes to give services users up to this port. */
export const subIdsFor = (last_port: number): number => last_port + 1

/** The last port with a user; undefined when the text is no map of an isolated installation. */
export function lastPortOf(ids: string): number | undefined {
  const count = form.exec(ids)?.[1]
  return count === undefined ? undefined : first_port + Number(count) - 1
}

function idsOf(own: number, { first, count }: SubIds, mark: number): string {
  const services = Math.min(count, ports) - first_port
  const ranges = [
    [0, own, 1],
    [unprivileged.uid, first + 1, 1],
    [first_service_uid, first, 1],
    [first_service_uid + first_port, first + first_port, services],
    [mark, first + 2, 1],
  ]
  return ranges.flat().join(' ')
}
