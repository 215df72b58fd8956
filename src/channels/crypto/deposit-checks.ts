import { auditDeposits } from '../../chain/deposits/deposit-audit.ts'
import { noticeLookAlikes } from '../../chain/deposits/look-alikes.ts'
import { noticeNative } from '../../chain/deposits/native-coin.ts'
import { RpcError } from '../../chain/endpoints/rpc.ts'
import { recordNamedTransaction } from '../../chain/named-transaction.ts'
import type { ChainReader } from '../../chain/rescan.ts'
import { MINUTE } from '../../kernel/clock.ts'
import { AppError } from '../../kernel/errors.ts'
import type { DepositChecks, NamedTransaction } from '../deposit-checks.ts'

const UNREAD = 'deposit addresses cannot be compared with their chain now; their orders do not expire'

/** Deposit checks across all configured chains. */
export function openDepositChecks(readers: readonly ChainReader[]): DepositChecks {
  async function lookUp(
    reader: ChainReader,
    named: { addresses: readonly string[]; txHash: string },
  ): Promise<NamedTransaction> {
    try {
      return await recordNamedTransaction(reader, named)
    } catch (error) {
      if (!(error instanceof RpcError)) throw error
      const message = `${reader.network.name} does not answer now, so the transaction cannot be checked. Try again in a moment.`
      throw new AppError('CHANNEL_UNAVAILABLE', { message, retryAfter: 10, cause: error })
    }
  }

  const loggedMs = new Map<number, number>()
  /** It is tried again every second while orders expire. */
  function logUnread({ network: { chainId }, log }: ChainReader, error: unknown): void {
    const nowMs = performance.now()
    if (nowMs - (loggedMs.get(chainId) ?? Number.NEGATIVE_INFINITY) < MINUTE) return
    loggedMs.set(chainId, nowMs)
    log.warn({ chainId, err: error }, UNREAD)
  }

  return {
    async recordTransaction({ addresses, txHash, network }) {
      const asked = readers.filter((reader) => network === null || reader.network.chainId === network)
      const answers: NamedTransaction[] = []
      let silent: unknown
      for (const reader of asked) {
        const answer = await lookUp(reader, { addresses, txHash }).catch((error: unknown) => {
          silent = error
          return null
        })
        if (answer?.counted) return answer
        if (answer) answers.push(answer)
      }
      const best = answers.find(({ found }) => found)
      if (best) return best
      if (silent) throw silent
      const reason = 'The network is not set up here.'
      return answers[0] ?? { found: false, counted: false, waiting: false, reason, addresses: [] }
    },
    async noticeMistakes(addresses) {
      if (addresses.length === 0) return { gained: [], silent: [] }
      const gained = new Set<string>()
      const silent = new Set<number>()
      const look = async ({ network: { chainId }, log }: ChainReader, found: Promise<readonly string[]>) => {
        try {
          for (const address of await found) gained.add(address)
        } catch (error) {
          log.warn({ chainId, err: error }, 'cannot look for coins and tokens sent by mistake now')
          silent.add(chainId)
        }
      }
      await Promise.all(
        readers.flatMap((reader) => [
          look(reader, noticeNative(reader, addresses)),
          look(reader, noticeLookAlikes(reader, addresses)),
        ]),
      )
      return { gained: [...gained], silent: [...silent] }
    },
    async auditDeposits(network, addresses) {
      const reader = readers.find((one) => one.network.chainId === network)
      if (!reader) return []
      try {
        const unsure = await auditDeposits(reader, addresses)
        const [awaited] = unsure.values()
        if (awaited) logUnread(reader, awaited)
        return addresses.filter((address) => unsure.has(address.toLowerCase()))
      } catch (error) {
        logUnread(reader, error)
        throw error
      }
    },
  }
}
