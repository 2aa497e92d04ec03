// A value that is made at its first use, and then kept. Of all that an API can check, write and show, a server that has just
// started needs nothing yet, and most never need all: to make it at the start took a third of the time, and 14 MB.

export function lazily<Value>(make: () => Value): () => Value {
  let made: { value: Value } | undefined
  return () => (made ??= { value: make() }).value
}
