// What is mounted where, as the kernel tells it. Pure.

/** `options`: of the file system itself. */
export type Mount = { path: string; type: string; options: readonly string[] }

/** The lines of /proc/self/mountinfo, in their order: of several mounts at one path the last one is visible. */
export function parseMounts(mountinfo: string): Mount[] {
  return mountinfo.split('\n').flatMap((line) => {
    const [front = '', back = ''] = line.split(' - ')
    const [type = '', , options = ''] = back.split(' ')
    const path = front
      .split(' ')[4]
      ?.replaceAll(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)))
    return path === undefined ? [] : { path, type, options: options.split(',') }
  })
}
