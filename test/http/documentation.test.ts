// The API describes itself: complete, public, and without the network.
import { beforeAll, describe, expect, test } from 'vitest'
import { fault_status } from '#contract/fault.ts'
import { newOpenApi } from '#contract/openapi.ts'
import { version } from '#contract/version.ts'
import { shared } from '#test/shared.ts'
import { newCall } from '../call.ts'
import { startInRegion } from './region.ts'
import { rows } from './requests.ts'

const installation = shared(startInRegion)
let page: string
let page_headers: Headers

beforeAll(async () => {
  const response = await fetch(`${installation.server.docs_url}/reference`)
  page = await response.text()
  page_headers = response.headers
})

test('the OpenAPI document is served without a credential', async () => {
  const answer = await newCall(installation.server.api_url, undefined)('GET', '/openapi.json')
  expect(answer.status).toBe(200)
  expect(answer.headers.get('content-type')).toMatch(/^application\/json/)
  expect(answer.body).toEqual(newOpenApi(version))
})

test('health and readiness are answered without a credential', async () => {
  for (const path of ['/healthz', '/readyz']) {
    const response = await fetch(installation.server.url + path)
    expect(response.status).toBe(200)
    expect(response.headers.get('x-request-id')).toBeTruthy()
  }
})

describe('the page', () => {
  test('has every endpoint and every error, each under its own anchor', () => {
    for (const { name, endpoint } of rows) {
      expect(page).toContain(`id="${name}"`)
      expect(page).toContain(`<code>${endpoint.path}</code>`)
    }
    for (const code of Object.keys(fault_status)) expect(page).toContain(`id="${code}"`)
    const ids = [...page.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id)
    expect(new Set(ids).size).toBe(ids.length)
    const targets = [...page.matchAll(/href="#([^"]+)"/g)].map(([, id]) => id)
    expect(targets.filter((id) => !ids.includes(id))).toEqual([])
  })

  test('needs no script and nothing from outside, and forbids both', () => {
    expect(page).not.toMatch(/<script|<iframe|<object|<form|\son\w+=/i)
    expect(page).not.toMatch(/(src|href)="(https?:)?\/\//i)
    expect(page).not.toMatch(/url\(|@import/)
    expect(page_headers.get('content-security-policy')).toMatch(/^default-src 'none'/)
    expect(page_headers.get('content-type')).toBe('text/html; charset=utf-8')
    expect(page_headers.get('x-content-type-options')).toBe('nosniff')
  })

  test('is accessible: language, title, landmarks, a way past the list', () => {
    for (const part of ['<html lang="en">', '<title>', '<main id="content">', '<nav aria-label=', 'href="#content"']) {
      expect(page).toContain(part)
    }
    expect([...page.matchAll(/<h1[ >]/g)]).toHaveLength(1)
    expect(page).toContain('color-scheme" content="light dark"')
  })

  test('closes every element that it opens', () => {
    const open: string[] = []
    for (const [, closing, name = ''] of page.matchAll(/<(\/?)([a-z][a-z0-9]*)[^>]*>/g)) {
      if (['meta', 'link'].includes(name)) continue
      if (closing === '') open.push(name)
      else expect(open.pop()).toBe(name)
    }
    expect(open).toEqual([])
  })
})
