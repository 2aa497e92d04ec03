// Server-sent events as they come over the wire. Pure. Howdah sends one line of `data` in an event, so the reader joins no lines;
// comments are the heartbeat of a stream and say nothing.

export type StreamEvent = {
  /** Of the last event that had one: where an interrupted stream can be resumed. */
  id: string | undefined
  /** `fault`: the stream ends, and the data say why. */
  type: string
  data: string
}

/** Takes the text as it comes, in pieces of any size, and returns the events that are complete. */
export function newEventReader(): (piece: string) => StreamEvent[] {
  let rest = ''
  let id: string | undefined
  return (piece) => {
    const blocks = (rest + piece).split('\n\n')
    rest = blocks.pop() ?? ''
    return blocks.flatMap((block) => {
      const fields = new Map(block.split('\n').map(fieldOf))
      id = fields.get('id') ?? id
      const data = fields.get('data')
      return data === undefined ? [] : [{ id, type: fields.get('event') ?? 'message', data }]
    })
  }
}

/** A comment is a field without a name. */
function fieldOf(line: string): [name: string, value: string] {
  const colon = line.indexOf(':')
  return colon < 0 ? [line, ''] : [line.slice(0, colon), line.slice(colon + 1).replace(/^ /, '')]
}
