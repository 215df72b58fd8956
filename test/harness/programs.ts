import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '../..')

/**
 * `main`: the service and its operator's commands, which start `child`, `sandbox` and `export-worker`;
 * `command-runner`: runs its commands, one after another; `webhook-sender`: a sender that is killed.
 */
export const SOURCES = {
  main: 'src/main.ts',
  child: 'src/commands/serve/child.ts',
  sandbox: 'sandbox/main.ts',
  'export-worker': 'src/orders/export/export-worker.ts',
  'command-runner': 'test/harness/command-runner.ts',
  'webhook-sender': 'test/harness/webhook-sender.ts',
}

/**
 * The file that starts a program. A whole run of the tests builds each once into few files (`scripts/test/bundle.ts`),
 * which start three times as fast; a single test starts the sources.
 */
export function programFile(name: keyof typeof SOURCES): string {
  const { TEST_PROGRAMS = '' } = process.env
  return TEST_PROGRAMS === '' ? join(ROOT, SOURCES[name]) : join(TEST_PROGRAMS, `${name}.mjs`)
}

/** The service's bin. */
export const MAIN = programFile('main')
