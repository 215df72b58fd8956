import { randomBytes } from 'node:crypto'
import pg from 'pg'

export type TestDatabase = {
  connectionString: string
  /** Removes it, also while connections are open. */
  drop(): Promise<void>
}

/**
 * A database of its own for one test file: a clone of the migrated template, which the test runner made.
 * @throws Error when the tests were not started by the runner
 */
export async function createTestDatabase(): Promise<TestDatabase> {
  const { TEST_DATABASE_URL: adminUrl, TEST_TEMPLATE: template } = process.env
  if (adminUrl === undefined || template === undefined) {
    throw new Error('This test needs the database of the test runner. Run it with: npm test -- <file>')
  }
  const name = `test_${process.pid}_${randomBytes(4).toString('hex')}`
  await runAsAdmin(adminUrl, `create database ${name} template ${template} strategy file_copy`)
  const url = new URL(adminUrl)
  url.pathname = `/${name}`
  return {
    connectionString: url.href,
    drop: () => runAsAdmin(adminUrl, `drop database if exists ${name} with (force)`),
  }
}

/** One without a schema. */
export async function createEmptyDatabase(options = ''): Promise<TestDatabase> {
  const { TEST_DATABASE_URL: adminUrl = '' } = process.env
  const name = `test_empty_${randomBytes(4).toString('hex')}`
  await runAsAdmin(adminUrl, `create database ${name} ${options}`)
  const url = new URL(adminUrl)
  url.pathname = `/${name}`
  return {
    connectionString: url.href,
    drop: () => runAsAdmin(adminUrl, `drop database if exists ${name} with (force)`),
  }
}

async function runAsAdmin(adminUrl: string, statement: string): Promise<void> {
  const admin = new pg.Client({ connectionString: adminUrl })
  await admin.connect()
  try {
    await admin.query(statement)
  } finally {
    await admin.end()
  }
}
