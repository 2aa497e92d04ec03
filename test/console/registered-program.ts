// A program that registered itself sends its user to log in, and the browser comes back to it: a form of the login pages may lead to the
// program's own address, and to no other.
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { askFor, newProgram } from '#test/oauth/programs.ts'
import { no_browser, type TestBrowser } from './browser.ts'

export function programTests(started: () => TestBrowser): void {
  test.skipIf(no_browser)(`a browser goes back to a program that registered itself${no_browser}`, async () => {
    const browser = started()
    const { url, people } = browser
    const program = createServer((_request, response) => response.end('You may close this page.'))
    program.listen(0, '127.0.0.1')
    await once(program, 'listening')
    onTestFinished(() => program.closeAllConnections())
    onTestFinished(() => void program.close())
    // The policy lets every form lead to 127.0.0.1, where our own command line waits. By this name it is another site.
    const redirect_uri = `http://localhost:${(program.address() as AddressInfo).port}/done`
    const { client_id } = await newProgram(url, redirect_uri)
    const asked = askFor(url, client_id, { scope: 'read', redirect_uri })
    const person = await people.newPerson('developer')
    const { context, page, wrong } = await browser.newVisitor()
    await page.goto(asked.url, { waitUntil: 'commit' })
    await page.getByLabel('E-mail').fill(person.email)
    await page.getByLabel('Password').fill(person.password)
    await page.getByRole('button', { name: 'Log in' }).click()
    await page.getByRole('button', { name: 'Allow' }).click()
    await page.getByText('You may close this page.').waitFor()
    const back = new URL(page.url())
    expect([back.origin + back.pathname, back.searchParams.get('state')]).toEqual([redirect_uri, asked.state])
    expect(back.searchParams.get('code')).toMatch(/./)
    expect(wrong.filter((line) => !line.includes(redirect_uri))).toEqual([])
    await context.close()
  })
}
