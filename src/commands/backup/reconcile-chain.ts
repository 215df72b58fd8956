import { setTimeout as sleep } from 'node:timers/promises'
import type { ServiceBase } from '../../assembly/service-base.ts'
import { findSkippedDeposits, findUnknownPayouts, type UnknownTransfer } from '../../chain/after-backup.ts'
import { findHead } from '../../chain/chain-queries.ts'
import { listWallets } from '../../chain/deposits/balance-audit-queries.ts'
import type { OpenChain } from '../../chain/open-chains.ts'
import type { RestoredFacts } from '../../db/restored-queries.ts'
import { startProgress } from '../progress.ts'
import { rescanAll } from '../rescan.ts'

export type ChainReport = {
  chainId: number
  /** First and last block that were checked. */
  from: string
  to: string
  missed: number
  skippedDeposits: UnknownTransfer[]
  unknownPayouts: UnknownTransfer[]
}

type Say = (line: string) => void

/** If no new block was read for this long, no worker reads this chain. */
const SILENT_MS = 30_000
const LOOK_MS = 500

/** Waits until the service has read the chain up to its current head. @throws Error when reading makes no progress */
async function awaitReader({ db }: ServiceBase, { network, rpc }: OpenChain, say: Say): Promise<bigint> {
  const { chainId } = network
  const top = BigInt(await rpc.call<string>('eth_blockNumber'))
  const progress = startProgress(say, `Chain ${chainId}`, 'blocks')
  let movedAtMs = Date.now()
  let last = -1n
  for (;;) {
    const number = (await findHead(db, chainId))?.number ?? 0n
    if (number >= top) return number
    if (number !== last) movedAtMs = Date.now()
    last = number
    progress(Number(number), Number(top))
    if (Date.now() - movedAtMs > SILENT_MS)
      throw new Error(
        `Chain ${chainId} is at block ${number} of ${top} and does not move. Start the service (a worker) first.`,
      )
    await sleep(LOOK_MS)
  }
}

/** What happened on a chain since the backup. @throws RpcError, Error with a sentence for the operator */
export async function reconcileChain(
  base: ServiceBase,
  chain: OpenChain,
  { facts, say }: { facts: RestoredFacts; say: Say },
): Promise<ChainReport> {
  const { db, log } = base
  const { network, payouts } = chain
  const { chainId } = network
  const to = await awaitReader(base, chain, say)
  const known = facts.heads.find((head) => head.chainId === chainId)
  const from = known ? BigInt(known.number) : to
  const reader = { db, log, ...chain }
  const range = { from, to }
  const { missed } = await rescanAll(reader, from, startProgress(say, `Chain ${chainId}`, 'addresses'))
  const skippedDeposits: UnknownTransfer[] = []
  for (const key of facts.skipped) skippedDeposits.push(...(await findSkippedDeposits(reader, range, key)))
  const wallets = new Set(await listWallets(db, chainId))
  if (payouts) wallets.add(payouts.address.toLowerCase())
  const unknownPayouts: UnknownTransfer[] = []
  for (const wallet of wallets) unknownPayouts.push(...(await findUnknownPayouts(reader, range, wallet)))
  return { chainId, from: from.toString(), to: to.toString(), missed, skippedDeposits, unknownPayouts }
}
