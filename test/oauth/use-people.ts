// One installation with people who log in, for all tests of a file.
import { afterAll, beforeAll } from 'vitest'
import { startInstallation, type TestInstallation } from '#test/installation.ts'
import { openPeople, type People } from './people.ts'

type WithPeople = { installation: TestInstallation; people: People; origin: string }

export function usePeople(onStarted: (on: WithPeople) => void | Promise<void>): void {
  let installation: TestInstallation | undefined
  let people: People | undefined
  beforeAll(async () => {
    installation = await startInstallation()
    people = await openPeople(installation)
    await onStarted({ installation, people, origin: installation.server.public_url })
  })
  afterAll(async () => {
    await people?.close()
    await installation?.stop()
  })
}
