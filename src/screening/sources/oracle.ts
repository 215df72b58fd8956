import { ProviderTrouble } from '../../channels/provider-errors.ts'
import { type ScreeningSource, worstOf } from '../screening.ts'

/** First four bytes of keccak-256 of `isSanctioned(address)`. */
const IS_SANCTIONED = '0xdf592f7d'
const FALSE = `0x${'0'.repeat(64)}`
const TRUE = `0x${'0'.repeat(63)}1`

/** Reads a contract on one chain at the newest block, from every trusted node. */
export type ContractRead = (call: { to: string; data: string }) => Promise<unknown[]>

export type Oracle = { chainId: number; contract: string; read: ContractRead }

/**
 * The sanctions oracle of Chainalysis. Listed addresses are the same on every EVM chain, so a chain without an oracle
 * uses the first configured one. Where there is no contract, a node answers `0x`, which counts as no answer.
 */
export function openOracle(oracles: readonly Oracle[]): ScreeningSource {
  return {
    id: 'oracle',
    async screen({ network, address }) {
      const oracle = oracles.find(({ chainId }) => chainId === network) ?? oracles[0]
      if (!oracle) throw new ProviderTrouble('no oracle is set up')
      const { chainId, contract } = oracle
      const data = `${IS_SANCTIONED}${address.slice(2).padStart(64, '0')}`
      const words = await oracle.read({ to: contract, data })
      const wrong = words.filter((word) => word !== TRUE && word !== FALSE)
      if (wrong.length > 0 || words.length === 0)
        throw new ProviderTrouble(`the contract on chain ${chainId} answered ${String(wrong[0]).slice(0, 80)}`)
      const verdict = worstOf(words.map((word) => (word === TRUE ? 'blocked' : 'clean')))
      const reasons = verdict === 'blocked' ? [`listed by the contract ${contract} on chain ${chainId}`] : []
      return { verdict, level: null, reasons, evidence: { chainId, contract, data, words } }
    },
  }
}
