import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import pino from 'pino'
import { createRpc, type Rpc } from '../../src/chain/endpoints/rpc.ts'
import { networkFor } from '../../src/chain/networks.ts'
import { agreeAlone } from '../../src/chain/payout/agreement.ts'
import { openPayouts, type PayoutRequest, type Payouts } from '../../src/chain/payout/payout.ts'
import { localSigner } from '../../src/chain/payout/signer.ts'
import { type Db, openDb, sql } from '../../src/db/db.ts'
import { findRestored, markRestored, updateReconciledRestore } from '../../src/db/restored-queries.ts'
import { MINUTE } from '../../src/kernel/clock.ts'
import { idFrom } from '../../src/kernel/ids.ts'
import { type Client, logInSuperAdmin } from './accounts.ts'
import type { TestChain } from './chain.ts'
import { createTestDatabase } from './database.ts'
import { createPaid, newAddress, payoutEnv, type RefundData, refundReaches, revert } from './refunds.ts'
import { type RpcProxy, startRpcProxy } from './rpc-proxy.ts'
import { type Answer, eventually } from './service.ts'
import { openShop, type Shop } from './shop.ts'

/** So long ago that nothing signed before waits in a pool, and shortly enough that what is made now is asked about. */
const POOLS_ARE_EMPTY_MS = 95 * MINUTE

/** A restored database knows nothing of what was signed after its backup. */
export async function forgetPayout(db: Db, { id }: Pick<PayoutRequest, 'id'>): Promise<void> {
  await db.run(sql`delete from chain_payout_transactions where payout_id = ${id}`)
  await db.run(sql`delete from chain_payouts where id = ${id}`)
}

/** The database is a restored one, and `reconcile` has run. */
export async function restore(db: Db): Promise<void> {
  await db.run(sql`insert into installation (mode, key_mark) values ('sandbox', 'x')`)
  const restoredAt = new Date(Date.now() - POOLS_ARE_EMPTY_MS)
  await db.tx((tx) => markRestored(tx, { backupMadeAt: restoredAt, restoredAt }))
  await noteReconciled(db)
}

/** `reconcile` has run. */
export async function noteReconciled(db: Db): Promise<void> {
  const restored = await findRestored(db)
  assert.ok(restored)
  assert.equal(await updateReconciledRestore(db, restored, new Date()), 1)
}

/** The same just now: pools may hold what was signed before. @returns back to how it was */
export async function restoreNow(db: Db): Promise<() => Promise<unknown>> {
  const by = async (ms: number) =>
    db.run(sql`update installation set restored_at = restored_at + ${`${ms} milliseconds`}::interval`)
  await by(POOLS_ARE_EMPTY_MS)
  return () => by(-POOLS_ARE_EMPTY_MS)
}

/** Pays as a service with this database would. @param keys of `payoutEnv` */
const openPayoutsWith = (
  { chain, rpc, keys }: { chain: TestChain; rpc: Rpc; keys: Record<string, string> },
  db: Db,
): Payouts =>
  openPayouts({
    ...{ db, rpc, clock: Date.now, log: pino({ level: 'silent' }) },
    network: networkFor({ chainId: chain.chainId, usdcAddress: chain.usdcAddress }),
    refundSigner: localSigner(keys.CHAIN_31337_REFUND_KEY ?? ''),
    relayerSigner: localSigner(keys.CHAIN_31337_RELAYER_KEY ?? ''),
  })

/** A shop whose database is a restored one, and the service before it lost its own. */
export type RestoredShop = {
  shop: Shop
  admin: Client
  rpc: Rpc
  /** Between the service and its chain. */
  node: RpcProxy
  /** Pays as the service did before it lost its database; as with other keys, if they are given. */
  openLost(keys?: Record<string, string>): Payouts
  /** Pays as the service does now. */
  restored: Payouts
  /** It left before the restore. @returns its transaction */
  leave(asked: PayoutRequest, payouts?: Payouts): Promise<string | null>
  /** It left before the restore, and is not final yet. */
  leaveUnfinal(asked: PayoutRequest): Promise<void>
  /** The order's first refund had left, and was rejected here before its first poll. 10 USDC are asked for again. */
  leaveDropped(): Promise<{ order: Awaited<ReturnType<typeof createPaid>>; payer: string; txHash: string | null }>
  /** A person says which transaction paid a refund. */
  nameRefund(refund: { _id: string }, txHash: string | null): Promise<Answer<null>>
  /** The order's newest refund, once it waits because of what left before the restore. */
  refundWaits(orderId: string, isRight?: RegExp): Promise<RefundData>
  stop(): Promise<void>
}

/** @param moreEnv further settings, made with the keys that pay on its chain */
export async function openRestoredShop(
  moreEnv: (keys: Record<string, string>) => Promise<Record<string, string>> = async () => ({}),
): Promise<RestoredShop> {
  let keys: Record<string, string> = {}
  let node: RpcProxy | undefined
  const lostDatabase = await createTestDatabase()
  const lostDb = openDb({ connectionString: lostDatabase.connectionString })
  const shop = await openShop({
    env: async (chain) => {
      keys = await payoutEnv(chain)
      node = await startRpcProxy(chain.rpcUrl)
      return { ...keys, CHAIN_31337_RPC_URL: node.url, ...(await moreEnv(keys)) }
    },
  })
  assert.ok(node)
  const proxy = node
  const { chain, host, merchant } = shop
  await restore(host.db)
  const admin = await logInSuperAdmin(host)
  const rpc = createRpc({ url: chain.rpcUrl })
  const openLost: RestoredShop['openLost'] = (given = keys) => openPayoutsWith({ chain, rpc, keys: given }, lostDb)
  const lost = openLost()
  const leave: RestoredShop['leave'] = async (asked, payouts = lost) => {
    await payouts.send(asked)
    await chain.mine(4)
    const { outcome, txHash } = await payouts.send(asked)
    assert.equal(outcome, 'settled')
    return txHash
  }
  return {
    ...{ shop, admin, rpc, node: proxy, openLost, restored: openPayoutsWith({ chain, rpc, keys }, host.db) },
    leave,
    async leaveUnfinal(asked) {
      await openLost().send(asked)
      await chain.mine()
    },
    async leaveDropped() {
      const order = await createPaid(shop)
      const payer = newAddress()
      const id = idFrom('refund', merchant.companyId, order.orderId, 1)
      const txHash = await leave({ id, to: payer, units: 10_000_000n })
      await revert(shop, order.code, { amount: '10' })
      const first = await refundReaches(shop, order.orderId, 'needs_address')
      await admin.post(`refunds/${first._id}/reject`, { reason: 'asked again with the address' })
      await revert(shop, order.code, { amount: '10', address: payer })
      return { order, payer, txHash }
    },
    nameRefund: ({ _id }, txHash) => admin.post<null>(`refunds/${_id}/transaction`, { txHash }),
    refundWaits: (orderId, isRight = / before the database was restored/) =>
      eventually(
        () => refundReaches(shop, orderId, 'ready'),
        ({ message }) => isRight.test(message ?? ''),
      ),
    async stop() {
      await rpc.close()
      await lostDb.close()
      await lostDatabase.drop()
      await shop.stop()
      await proxy.stop()
    },
  }
}

/** The chain as a node without the keys has it. */
export function openKeyless(t: TestContext, { chain }: Shop) {
  const rpc = createRpc({ url: chain.rpcUrl })
  t.after(() => rpc.close())
  const network = networkFor({ chainId: chain.chainId, usdcAddress: chain.usdcAddress })
  return { rpc, agree: agreeAlone(rpc), network, payouts: null }
}

export const isMined = ({ message }: { message: string | null }): boolean =>
  /is in block \d+, not final yet$/.test(message ?? '')
