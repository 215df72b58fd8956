import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import pino from 'pino'
import { createRpc, type Rpc } from '../src/chain/endpoints/rpc.ts'
import { networkFor } from '../src/chain/networks.ts'
import { openPayouts, type PayoutRequest, type Payouts, withdrawPayout } from '../src/chain/payout/payout.ts'
import { localSigner } from '../src/chain/payout/signer.ts'
import { type Db, openDb, sql } from '../src/db/db.ts'
import { newId } from '../src/kernel/ids.ts'
import { createTestDatabase, type TestDatabase } from './harness/database.ts'
import { newAddress, payoutEnv } from './harness/refunds.ts'
import { openShop, type Shop } from './harness/shop.ts'

/*
 * What left the wallet before a restore, and only the lost database knows. The token remembers it: nothing is paid
 * twice.
 */

let shop: Shop
let lostDatabase: TestDatabase
let lostDb: Db
let rpc: Rpc
/** The service before it lost its database. */
let lost: Payouts
/** The service after that. */
let restored: Payouts

before(async () => {
  let keys: Record<string, string> = {}
  lostDatabase = await createTestDatabase()
  lostDb = openDb({ connectionString: lostDatabase.connectionString })
  shop = await openShop({
    env: async (chain) => {
      keys = await payoutEnv(chain)
      return keys
    },
  })
  rpc = createRpc({ url: shop.chain.rpcUrl })
  const open = (db: Db): Payouts =>
    openPayouts({
      ...{ db, rpc, clock: Date.now, log: pino({ level: 'silent' }) },
      network: networkFor({ chainId: shop.chain.chainId, usdcAddress: shop.chain.usdcAddress }),
      refundSigner: localSigner(keys.CHAIN_31337_REFUND_KEY ?? ''),
      relayerSigner: localSigner(keys.CHAIN_31337_RELAYER_KEY ?? ''),
    })
  lost = open(lostDb)
  restored = open(shop.host.db)
})
after(async () => {
  await rpc?.close()
  await lostDb?.close()
  await lostDatabase?.drop()
  await shop?.stop()
})

/** It left before the restore. @returns its transaction */
async function leave(asked: PayoutRequest): Promise<string | null> {
  await lost.send(asked)
  await shop.chain.mine(4)
  const { outcome, txHash } = await lost.send(asked)
  assert.equal(outcome, 'settled')
  return txHash
}

const withdraw = (asked: PayoutRequest, isPaid: boolean): Promise<boolean> =>
  withdrawPayout(
    shop.host.db,
    { ...asked, chainId: shop.chain.chainId },
    { isPaid, providerStatus: 'withdrawn' },
    new Date(),
  )

test('a database restored from before the payout cannot pay it again', async () => {
  const asked = { id: newId(), to: newAddress(), units: 1_500_000n }
  const txHash = await leave(asked)
  const again = await restored.send(asked)
  assert.deepEqual([again.outcome, again.txHash], ['settled', txHash])
  assert.equal(await shop.chain.balanceOf(asked.to), asked.units)
})

test('what had left with another amount, or to another address, is said, and cannot be taken back', async () => {
  const { db } = shop.host
  const asked = { id: newId(), to: newAddress(), units: 1_500_000n }
  const txHash = await leave(asked)
  const others = [
    { ...asked, units: asked.units + 5_000_000n },
    { ...asked, units: asked.units - 500_000n },
    { ...asked, to: newAddress() },
  ]
  for (const other of others) {
    const { outcome, providerStatus } = await restored.send(other)
    assert.equal(outcome, 'pending')
    const to = asked.to.toLowerCase()
    const done = `Transaction ${txHash} has used its authorization, and brought 1.500000 USDC to ${to} instead of `
    assert.equal(providerStatus.slice(0, done.length), done)
    assert.equal(await withdraw(other, false), false)
    assert.equal(await shop.chain.balanceOf(asked.to), asked.units)
    assert.equal(await withdraw(other, true), true, 'a person who found the transaction can name it')
    await db.run(sql`delete from chain_payouts where id = ${asked.id}`)
  }
})
