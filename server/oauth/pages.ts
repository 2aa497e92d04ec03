// Every page that people see while they log in, as text. Pure. Forms work with the keyboard, with a password manager
// and without scripts; what went wrong stands above them.
import { alertOf, hiddenInputs, markup, pageOf } from './page.ts'

type LoginPage = {
  /** The program that the login is for. */
  client_name: string
  action: string
  csrf: string
  email: string
  message: string | undefined
}

export function loginPage({ client_name, action, csrf, email, message }: LoginPage): string {
  return pageOf(
    'Log in',
    markup`<p>to go on to <strong>${client_name}</strong></p>
      ${alertOf(message)}
      <form method="post" action="${action}">
        ${hiddenInputs({ csrf })}
        ${emailInput(email)}
        ${passwordInput('Password')}
        <button type="submit" name="decision" value="allow">Log in</button>
        <button type="submit" name="decision" value="deny" class="plain" formnovalidate>Cancel</button>
      </form>
      <p class="hint">
        <a href="/oauth/password">Change your password</a>. Forgotten? Ask an administrator for a new link.
      </p>`,
  )
}

export function elsewherePage({ issuer, url }: { issuer: string; url: string }): string {
  return pageOf('Log in', markup`<p><a href="${url}">Log in at ${new URL(issuer).host}</a></p>`)
}

type ConfirmPage = {
  client_name: string
  email: string
  action: string
  csrf: string
  /** Of a program that registered itself: the host that its user is sent to. */
  returns_to?: string
  writes?: boolean
}

export function confirmPage({ client_name, email, action, csrf, returns_to, writes }: ConfirmPage): string {
  return pageOf(
    'Allow this login?',
    markup`<p>
        <strong>${client_name.charAt(0).toUpperCase() + client_name.slice(1)}</strong> asks to ${returns_to !== undefined && !writes ? 'read' : 'act'} for
        <strong>${email}</strong>, with all your roles in all your projects.
      </p>
      ${returns_to === undefined ? '' : markup`<p>You are sent on to <strong>${returns_to}</strong>.</p>`}
      <p>Refuse if you have not just started it yourself.</p>
      <form method="post" action="${action}">
        ${hiddenInputs({ csrf })}
        <button type="submit" name="decision" value="allow">Allow</button>
        <button type="submit" name="decision" value="deny" class="plain">Refuse</button>
      </form>`,
  )
}

type DevicePage = { action: string; xsrf: string; user_code: string; message?: string | undefined }

export function deviceInputPage({ action, xsrf, user_code, message }: DevicePage): string {
  return pageOf(
    'Log in on another device',
    markup`${alertOf(message)}
      <form method="post" action="${action}">
        ${hiddenInputs({ xsrf })}
        <label for="user_code">The code that the other device shows</label>
        <input
          id="user_code"
          name="user_code"
          autocomplete="off"
          autocapitalize="characters"
          spellcheck="false"
          required
          maxlength="40"
          value="${user_code}"
          autofocus
        />
        <button type="submit">Go on</button>
      </form>`,
  )
}

export function deviceConfirmPage({ action, xsrf, user_code }: DevicePage): string {
  return pageOf(
    'Is this your code?',
    markup`<p><code>${user_code}</code></p>
      <p>
        Go on only if a command line that <strong>you</strong> have just started shows exactly this code. The
        program that shows it will be able to act for you.
      </p>
      <form method="post" action="${action}">
        ${hiddenInputs({ xsrf, user_code, confirm: 'yes' })}
        <button type="submit">Yes, go on</button>
        <button type="submit" name="abort" value="yes" class="plain">No, refuse</button>
      </form>`,
  )
}

export function deviceDonePage(): string {
  return pageOf('You are logged in', markup`<p>Go back to your command line. You can close this page.</p>`)
}

export function logoutPage({ action, xsrf }: { action: string; xsrf: string }): string {
  return pageOf(
    'Log out?',
    markup`<form method="post" action="${action}">
      ${hiddenInputs({ xsrf })}
      <button type="submit" name="logout" value="yes" autofocus>Log out</button>
      <button type="submit" class="plain">Stay logged in</button>
    </form>`,
  )
}

export function loggedOutPage(): string {
  return pageOf('You are logged out', markup`<p>You can close this page.</p>`)
}

/** The browser had no login; the program that sent it here may want it back. */
export function notLoggedInPage({ action, xsrf }: { action: string; xsrf: string }): string {
  return pageOf(
    'You are logged out',
    markup`<form method="post" action="${action}">
      ${hiddenInputs({ xsrf, logout: 'yes' })}
      <button type="submit" autofocus>Go on</button>
    </form>`,
  )
}

export function errorPage(message: string): string {
  return pageOf('That did not work', markup`<p role="alert">${message}</p>`)
}

type PasswordPage = { csrf: string; message?: string | undefined }

export function changePasswordPage({ csrf, email, message }: PasswordPage & { email: string }): string {
  return pageOf(
    'Change your password',
    markup`${alertOf(message)}
      <form method="post" action="/oauth/password">
        ${hiddenInputs({ csrf })}
        ${emailInput(email)}
        ${passwordInput('Password until now')}
        ${newPasswordInput()}
        <button type="submit">Change it</button>
      </form>
      <p class="hint">Every login of yours ends with the change; tokens stay.</p>`,
  )
}

export function setPasswordPage({
  csrf,
  email,
  token,
  message,
}: PasswordPage & { email: string; token: string }): string {
  return pageOf(
    'Choose a password',
    markup`<p>for <strong>${email}</strong></p>
      ${alertOf(message)}
      <form method="post" action="/oauth/password/set">
        ${hiddenInputs({ csrf, token })}
        <input type="email" name="email" value="${email}" autocomplete="username" hidden />
        ${newPasswordInput('autofocus')}
        <button type="submit">Set it</button>
      </form>`,
  )
}

export function passwordDonePage(): string {
  return pageOf(
    'Your password is set',
    markup`<p>Log in with it from now on: in <a href="/">the console</a>, or with <strong>howdah login</strong>.</p>`,
  )
}

function emailInput(email: string) {
  return markup`<label for="email">E-mail</label>
    <input
      id="email"
      name="email"
      type="email"
      autocomplete="username"
      required
      maxlength="254"
      value="${email}"
      autofocus
    />`
}

function passwordInput(label: string) {
  return markup`<label for="password">${label}</label>
    <input
      id="password"
      name="password"
      type="password"
      autocomplete="current-password"
      required
      maxlength="1000"
    />`
}

function newPasswordInput(focus?: 'autofocus') {
  return markup`<label for="new_password">New password</label>
    <input
      id="new_password"
      name="new_password"
      type="password"
      autocomplete="new-password"
      required
      minlength="10"
      maxlength="256"
      aria-describedby="rule"
      ${focus}
    />
    <p class="hint" id="rule">
      At least 10 characters, and no common password. A few words that do not belong together are good.
    </p>`
}
