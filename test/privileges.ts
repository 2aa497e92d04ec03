// Words before a program that takes its privileges away, for tests that run as root of what others get.

/** nobody: a user that every host has. */
export const nobody = 65_534

export const as_ordinary_user = `setpriv --reuid ${nobody} --regid ${nobody} --clear-groups --`.split(' ')

/** Such as on a host whose administrator does not let ordinary users have user namespaces. */
export const without_user_namespaces = [
  ...as_ordinary_user,
  ...`unshare --user --map-user=${nobody} --map-group=${nobody} --keep-caps -- sh -c`.split(' '),
  'echo 0 > /proc/sys/user/max_user_namespaces && exec setpriv --inh-caps=-all --ambient-caps=-all -- "$@"',
  'sh',
]
