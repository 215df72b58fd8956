import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from '../src/db/db.ts'
import { MINUTE } from '../src/kernel/clock.ts'
import { createPaid, newAddress, payoutEnv, refundReaches, revert } from './harness/refunds.ts'
import { type Faults, startRpcProxy } from './harness/rpc-proxy.ts'
import { startTestService } from './harness/service.ts'
import { chainEnv, openShop, type Shop } from './harness/shop.ts'

/* A payout is final, and a node that the next service asks does not know of it. */

let shop: Shop
let paying: Record<string, string>
before(async () => {
  shop = await openShop({
    env: async (chain) => {
      paying = await payoutEnv(chain)
      return paying
    },
  })
  const order = await createPaid(shop)
  await revert(shop, order.code, { address: newAddress() })
  await refundReaches(shop, order.orderId, 'settled')
})
after(() => shop?.stop())

const DECIMALS = '0x313ce567'
const AUTHORIZATION_STATE = '0xe94a0102'
const isCall = (params: unknown[] | undefined, selector: string): boolean =>
  ((params?.[0] as { data?: string } | undefined)?.data ?? '').startsWith(selector)
const NONE = `0x${'0'.repeat(64)}`

const ofYesterday: Faults['alter'] = ({ method, params }, result) => {
  if (isCall(params, AUTHORIZATION_STATE)) return NONE
  if (method !== 'eth_getBlockByNumber' || result === null) return result
  return { ...(result as object), timestamp: `0x${Math.floor(Date.now() / 1000 - 86_400).toString(16)}` }
}

/** A second service, ten minutes later, whose first node has the fault. */
async function openSecond(t: { after(work: () => unknown): void }, alter: Faults['alter'], others: string[]) {
  const proxy = await startRpcProxy(shop.chain.rpcUrl)
  proxy.faults.alter = alter
  const second = await startTestService({
    env: { ...chainEnv(shop.chain), ...paying, CHAIN_31337_RPC_URL: [proxy.url, ...others].join() },
    connectionString: shop.host.db.connectionString,
    vault: shop.host.vault,
    clock: () => Date.now() + 10 * MINUTE,
  })
  t.after(async () => {
    await second.stop()
    await proxy.stop()
  })
  return { second, proxy }
}

/** Neither now nor in some seconds is the payout anything but final. */
async function staysFinal(logLines: readonly string[]): Promise<void> {
  for (let look = 0; look < 15; look += 1) {
    const rows = await shop.host.db.many<{ status: string }>(sql`select status from chain_payouts`)
    assert.deepEqual(rows, [{ status: 'final' }])
    await sleep(200)
  }
  assert.deepEqual(
    logLines.filter((line) => /ALARM: a payout was undone/.test(line)),
    [],
  )
}

test('a start that is refused because of the token opens no final payout again', async (t) => {
  const alter: Faults['alter'] = (question, result) => {
    if (isCall(question.params, DECIMALS)) return `0x${'12'.padStart(64, '0')}`
    return isCall(question.params, AUTHORIZATION_STATE) ? NONE : result
  }
  const { second } = await openSecond(t, alter, [])
  await assert.rejects(second.service.startWorkers(), /has 18 decimals/)
  await staysFinal(second.logLines)
})

test('one of two nodes that is a day behind at the start opens no final payout again', async (t) => {
  const { second } = await openSecond(t, ofYesterday, [shop.chain.rpcUrl])
  await second.service.startWorkers()
  await staysFinal(second.logLines)
})
