// What a person does with a page: presses buttons, fills fields, answers dialogs.
import type { User } from './browser.ts'

export function handsOf(user: () => User) {
  const press = (name: string | RegExp) => user().page.getByRole('button', { name, exact: true }).click()
  const answer = (name: string) => user().page.getByRole('dialog').getByRole('button', { name, exact: true }).click()
  const fill = (label: string, text: string) => user().page.getByLabel(label, { exact: true }).fill(text)
  const choose = (text: string) =>
    user()
      .page.locator('label', { hasText: new RegExp(`^${text}$`) })
      .click()
  /** What wants the name of the service typed. */
  const confirm = async (button: string) => {
    const field = user()
      .page.getByRole('dialog')
      .getByLabel(/^Type .* to confirm$/)
    await field.fill(/^Type (.*) to confirm$/.exec((await field.evaluate(labelOf)) ?? '')?.[1] ?? '')
    await answer(button)
    await closed()
  }
  const closed = () => user().page.getByRole('dialog').waitFor({ state: 'detached' })
  /** Of the service on screen. */
  const ready = () => user().page.getByRole('status').getByText('READY').waitFor()
  const fromMenu = async (trigger: string, item: string) => {
    await press(trigger)
    await user().page.getByRole('menuitem', { name: item, exact: true }).click()
  }
  return { press, answer, fill, choose, confirm, closed, ready, fromMenu }
}

const labelOf = (element: Element) => (element instanceof HTMLInputElement ? element.labels?.[0]?.textContent : '')
