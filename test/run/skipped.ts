// The last lines of a run: which tests were skipped, and why. A test that can be skipped says why at the end of its name or of its
// group's, as in ` (skipped: only root can give files away)`, or when it finds out, by `context.skip(…)`.
import type { Reporter, TestCase, TestModule } from 'vitest/node'

export const skipped: Reporter = {
  onTestRunEnd(modules) {
    const lines = skippedLines(modules.flatMap((module) => testsOf(module)))
    if (lines.length > 0) console.log(`\n${lines.join('\n')}\n`)
  },
}

type Skipped = { file: string; name: string; reason: string }

/** Grouped by reason. Tests that were left out by a filter have none. */
export function skippedLines(tests: readonly Skipped[]): string[] {
  const by_reason = Object.entries(Object.groupBy(tests, ({ reason }) => reason))
  const count = tests.length === 1 ? '1 test was skipped:' : `${tests.length} tests were skipped:`
  return tests.length === 0
    ? []
    : [
        count,
        ...by_reason.flatMap(([reason, group = []]) => [
          `  because ${reason}:`,
          ...group.map(({ file, name }) => `    ${file} > ${name}`),
        ]),
      ]
}

function testsOf(module: TestModule): Skipped[] {
  return [...module.children.allTests('skipped')].flatMap((test) => {
    const reason = reasonOf(test)
    const name = test.fullName.replaceAll(reason_pattern, '')
    return reason === undefined ? [] : [{ file: module.relativeModuleId, name, reason }]
  })
}

const reason_pattern = / \(skipped: (.*?)\)(?= > |$)/g

function reasonOf(test: TestCase): string | undefined {
  const result = test.result()
  if (result.state === 'skipped' && result.note !== undefined) return result.note
  return [...test.fullName.matchAll(reason_pattern)].at(-1)?.[1]
}
