// What an agent is told of each tool.
import { expect, test } from 'vitest'
import { api, type EndpointName } from './api.ts'
import { toolOf } from './tool.ts'

// Object.keys forgets the names that the table's type has.
const tools = (Object.keys(api) as EndpointName[]).map((name) => toolOf(name, api[name]))

test('no description ends within a piece of code', () => {
  for (const { name, description, inputSchema } of tools) {
    const members = Object.values(inputSchema.properties).map((member) => String(Object(member).description ?? ''))
    for (const text of [description, ...members]) expect(text.split('`').length % 2, `${name}: ${text}`).toBe(1)
  }
})

test('a description is the summary, and the first sentence of the rest', () => {
  expect(toolOf('getService', api.getService).description).toBe('Get a service. As it is now.')
})
