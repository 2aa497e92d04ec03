// Tests run real PostgreSQL servers: three files at once on two cores, generous limits, and no test depends on how long a thing takes.
import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['**/*.test.ts'],
    exclude: ['node_modules/**'],
    pool: 'forks',
    maxWorkers: 3,
    testTimeout: 240_000,
    hookTimeout: 240_000,
    reporters: ['default'],
  },
})
