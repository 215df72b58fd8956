import pino from 'pino'
import type { Rpc } from '../../src/chain/endpoints/rpc.ts'
import { networkFor } from '../../src/chain/networks.ts'
import { openPayouts, type Payouts } from '../../src/chain/payout/payout.ts'
import { localSigner } from '../../src/chain/payout/signer.ts'
import { type Db, sql } from '../../src/db/db.ts'
import { markRestored, updateReconciledRestore } from '../../src/db/restored-queries.ts'
import type { TestChain } from './chain.ts'

/** The database is a restored one, and `reconcile` has run. */
export async function restore(db: Db): Promise<void> {
  await db.run(sql`insert into installation (mode, key_mark) values ('sandbox', 'x')`)
  await db.tx((tx) => markRestored(tx, { backupMadeAt: new Date(), restoredAt: new Date() }))
  await updateReconciledRestore(db, new Date())
}

/** Pays as a service with this database would. @param keys of `payoutEnv` */
export const openPayoutsWith = (
  { chain, rpc, keys }: { chain: TestChain; rpc: Rpc; keys: Record<string, string> },
  db: Db,
): Payouts =>
  openPayouts({
    ...{ db, rpc, clock: Date.now, log: pino({ level: 'silent' }) },
    network: networkFor({ chainId: chain.chainId, usdcAddress: chain.usdcAddress }),
    refundSigner: localSigner(keys.CHAIN_31337_REFUND_KEY ?? ''),
    relayerSigner: localSigner(keys.CHAIN_31337_RELAYER_KEY ?? ''),
  })
