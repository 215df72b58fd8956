import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ChainReader } from '../../chain/rescan.ts'
import { openDepositChecks } from './deposit-checks.ts'

test('without an address no chain and no database is asked for mistakes', async () => {
  const mustRest = new Proxy({} as ChainReader, {
    get(_, name) {
      throw new Error(`the reader was asked for its ${String(name)}`)
    },
  })
  const { noticeMistakes } = openDepositChecks([mustRest])
  assert.deepEqual(await noticeMistakes([]), { gained: [], silent: [] })
})
