// Server-sent events are read the same in whatever pieces they come.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { newEventReader } from './event-stream.ts'

const wire =
  'retry: 1000\n\nid: 7\ndata: {"a":": b"}\n\n:\n\nid: 9\n\ndata: 2\n\nevent: fault\ndata: {}\n\nid: 10\ndata: cut'

test('an event has its data and the last id; comments, and ids without data, are no events', () => {
  expect(newEventReader()(wire)).toEqual([
    { id: '7', type: 'message', data: '{"a":": b"}' },
    { id: '9', type: 'message', data: '2' },
    { id: '9', type: 'fault', data: '{}' },
  ])
})

test('pieces of any size make the same events', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 30 })), (sizes) => {
      const read = newEventReader()
      const events = []
      let left = wire
      for (const size of [...sizes, wire.length]) {
        events.push(...read(left.slice(0, size)))
        left = left.slice(size)
      }
      expect(events).toEqual(newEventReader()(wire))
    }),
  )
})
