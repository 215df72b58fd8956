import { randomBytes } from 'node:crypto'
import pino from 'pino'
import { parseTransaction } from 'viem/utils'
import { mint } from '../../sandbox/chain/token.ts'
import { createRpc } from '../../src/chain/endpoints/rpc.ts'
import { networkFor } from '../../src/chain/networks.ts'
import { openPayouts, type PayoutRequest, type Payouts, withdrawPayout } from '../../src/chain/payout/payout.ts'
import { localSigner, type Signer } from '../../src/chain/payout/signer.ts'
import { openDb, sql } from '../../src/db/db.ts'
import { newId } from '../../src/kernel/ids.ts'
import { startTestChain } from './chain.ts'
import { createTestDatabase } from './database.ts'

export const ETHER = 10n ** 18n
export const GWEI = 10n ** 9n
/** Short, so that what was signed runs out within a test. */
export const VALID_SECONDS = 600

const newKey = (): string => `0x${randomBytes(32).toString('hex')}`
const newAddress = (): string => localSigner(newKey()).address.toLowerCase()

export const request = (units = 1_500_000n): PayoutRequest => ({ id: newId(), to: newAddress(), units })

/** `maxFeeWei`: as the setting has it. */
type Options = Partial<Parameters<typeof openPayouts>[0]> & { maxFeeWei?: bigint }
type Row = { status: string; validBefore: bigint | null; signature: string | null; words: string }

export type PayoutWorld = Awaited<ReturnType<typeof startPayoutWorld>>

/** A chain and a database for payouts without a service. Each test opens wallets of its own. */
export async function startPayoutWorld() {
  const [chain, database] = await Promise.all([startTestChain(), createTestDatabase()])
  const db = openDb({ connectionString: database.connectionString })
  const rpc = createRpc({ url: chain.rpcUrl })
  /** How far the chain's clock is ahead of ours. */
  let aheadMs = 0
  const setPurse = ({ address }: Signer, wei: bigint) =>
    chain.call('anvil_setBalance', address, `0x${wei.toString(16)}`)
  return {
    ...{ chain, db, rpc, setPurse },
    aheadMs: () => aheadMs,
    async pass(seconds: number): Promise<void> {
      aheadMs += seconds * 1000
      await chain.call('evm_increaseTime', seconds)
      await chain.mine()
    },
    /** A block with this base fee. */
    async mineAt(baseFee: bigint): Promise<void> {
      await chain.call('anvil_setNextBlockBaseFeePerGas', `0x${baseFee.toString(16)}`)
      await chain.mine()
    },
    /** A wallet with these units, and a relayer with ten of the native coin. */
    async openWallet(units: bigint) {
      const signers = { refundSigner: localSigner(newKey()), relayerSigner: localSigner(newKey()) }
      await mint(chain.call, signers.refundSigner.address, units)
      await setPurse(signers.relayerSigner, 10n * ETHER)
      const open = ({ maxFeeWei, ...options }: Options = {}): Payouts => {
        const network = networkFor({ chainId: chain.chainId, usdcAddress: chain.usdcAddress })
        return openPayouts({
          ...{
            db,
            rpc,
            clock: () => Date.now() + aheadMs,
            log: pino({ level: 'silent' }),
            validSeconds: VALID_SECONDS,
          },
          network: maxFeeWei === undefined ? network : { ...network, maxFeeWei },
          ...signers,
          ...options,
        })
      }
      return { ...signers, open }
    },
    rowOf: ({ id }: PayoutRequest) =>
      db.one<Row>(sql`select status, valid_before, signature, words from chain_payouts where id = ${id}`),
    /** The tip of each transaction that pays it. */
    async feesOf({ id }: PayoutRequest): Promise<bigint[]> {
      const rows = await db.many<{ raw: `0x${string}` }>(sql`
        select raw from chain_payout_transactions where payout_id = ${id} order by created_at, max_fee_wei`)
      return rows.map(({ raw }) => parseTransaction(raw).maxPriorityFeePerGas ?? 0n)
    },
    /** What each transaction pays at most that only uses up this account nonce of the relayer. */
    async fillingsOf({ address }: Signer, nonce: bigint): Promise<bigint[]> {
      const rows = await db.many<{ raw: `0x${string}` }>(sql`
        select raw from chain_payout_transactions where payout_id is null and relayer_nonce = ${nonce}
        order by created_at, max_fee_wei`)
      return rows
        .map(({ raw }) => parseTransaction(raw))
        .filter(({ to }) => to === address.toLowerCase())
        .map(({ maxFeePerGas }) => maxFeePerGas ?? 0n)
    },
    withdraw: (asked: PayoutRequest): Promise<boolean> =>
      withdrawPayout(
        db,
        { ...asked, chainId: chain.chainId },
        { by: 'canBeTakenBack', providerStatus: 'rejected' },
        new Date(),
      ),
    async stop(): Promise<void> {
      await rpc.close()
      await db.close()
      await database.drop()
      await chain.stop()
    },
  }
}
