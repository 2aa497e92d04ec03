// Which passwords are guessed first, and which are not.
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { isCommonPassword } from './common-password.ts'

const email = 'ada.lovelace81@analytical.example.com'

const common = [
  'passwordpassword',
  'Password123!',
  'P@ssw0rd1234',
  'p4$$w0rd2024',
  '!!password!!',
  'PASSWORD12',
  'pass word 1234',
  'password1password1',
  'Passwort123',
  'motdepasse1',
  'contrasena1',
  'senha123456',
  'mypassword',
  'my new password',
  'adminpassword',
  'admin@1234',
  'administrator',
  'rootroot12',
  'postgres123',
  'letmeinplease',
  'changeme123',
  'welcome2024!',
  'Welcome1234',
  'iloveyou12',
  'iloveyouforever',
  'trustno1234',
  'secret12345',
  'test123456',
  'qwertyuiop',
  'qwerty12345',
  '1q2w3e4r5t',
  '1qaz2wsx3edc',
  '1qaz@WSX3edc',
  'asdfghjkl;',
  'poiuytrewq',
  'azertyuiop',
  'abcdefghij',
  'zyxwvutsrq',
  'abc123abc123',
  'abcd1234abcd',
  'aaaaaaaaaa',
  'abababababab',
  '1234567890',
  '0987654321',
  '1234512345',
  '1122334455',
  '1111111111',
  '123123123123',
  '2024202420',
  '19901990!!',
  '01.01.1990',
  '1990-12-31',
  '!!!!!!!!!!',
  '12341234123',
  'football2023',
  'Summer2024!',
  'Michael1985',
  'jennifer01',
  'elephant123',
  'howdahhowdah',
  'superman99',
  'St4rw4rs77',
  'monkeymonkey',
  'liverpool1',
  'b4seb4ll99',
  'sunshine!1',
  '$unshine123',
  'November2025',
  'chocolate7',
]

test.each(common)('%s is refused', (password) => {
  expect(isCommonPassword(password, email)).toBe(true)
})

const own = [
  email,
  email.toUpperCase(),
  `${email}1`,
  'ada.lovelace81',
  'AdaLovelace81',
  'adalovelace',
  'Ada Lovelace',
  'ada_lovelace!!',
  'adalovelace1815',
  'ada.lovelace81ada.lovelace81',
  '4d4l0v3l4c3',
  '2024adalovelace',
]

test.each(own)('%s is refused, because it is the user’s own e-mail', (password) => {
  expect(isCommonPassword(password, email)).toBe(true)
  if (!password.includes('@')) expect(isCommonPassword(password, 'somebody@example.com')).toBe(false)
})

const good = [
  'correct horse battery',
  'ten letter',
  'a new long one',
  'another long one',
  'purple teapot sings',
  'Zq8#vLw2@xT',
  'k3Rt9pLmQw',
  '4815162342x',
  '8305917264',
  'wet gravel and tin',
  'nine oceans of soup',
  'Tr0ub4dor&3',
  'ωκεανος και ανεμος',
  '紫色茶壺在唱歌呢嗎',
]

test.each(good)('%s is taken', (password) => {
  expect(isCommonPassword(password, email)).toBe(false)
})

test('the longest that can be sent is looked at in no time', () => {
  const long = Array.from({ length: 256 }, (_, at) => 'ilovemypass1990qwe'[(at * 7 + (at >> 3)) % 18]).join('')
  expect(isCommonPassword(long, email)).toBe(false)
  expect(isCommonPassword('password'.repeat(32), email)).toBe(true)
})

test('every stem of the list is there once, in lower case letters, and is refused with a year', () => {
  const text = readFileSync(new URL('./common-passwords.txt', import.meta.url), 'utf8')
  const words = text
    .replaceAll(/^(#.*|\[.*\])$/gm, '')
    .split(/\s+/)
    .filter((word) => word !== '')
  expect(words.length).toBeGreaterThan(2_000)
  expect(new Set(words).size).toBe(words.length)
  expect(words.filter((word) => !/^[a-z]{1,36}$/.test(word))).toEqual([])
  expect(words.filter((word) => !isCommonPassword(`${word}2026!`, email))).toEqual([])
  expect(words.filter((word) => !isCommonPassword(word + word, email))).toEqual([])
})
