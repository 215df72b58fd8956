import { keccak256, toRlp } from 'viem/utils'
import type { Hex } from '../endpoints/rpc.ts'
import type { RpcBlock } from '../transfer-logs.ts'

/** The fields of a header in their order, as hash (bytes) or number; later forks added those after the nonce. */
const FIELDS: readonly (readonly [string, 'bytes' | 'number'])[] = [
  ['parentHash', 'bytes'],
  ['sha3Uncles', 'bytes'],
  ['miner', 'bytes'],
  ['stateRoot', 'bytes'],
  ['transactionsRoot', 'bytes'],
  ['receiptsRoot', 'bytes'],
  ['logsBloom', 'bytes'],
  ['difficulty', 'number'],
  ['number', 'number'],
  ['gasLimit', 'number'],
  ['gasUsed', 'number'],
  ['timestamp', 'number'],
  ['extraData', 'bytes'],
  ['mixHash', 'bytes'],
  ['nonce', 'bytes'],
  ['baseFeePerGas', 'number'],
  ['withdrawalsRoot', 'bytes'],
  ['blobGasUsed', 'number'],
  ['excessBlobGas', 'number'],
  ['parentBeaconBlockRoot', 'bytes'],
  ['requestsHash', 'bytes'],
]

/** A number as RLP holds it: without leading zeros; zero has no byte. */
export function toBytes(value: string): Hex {
  const number = BigInt(value)
  if (number === 0n) return '0x'
  const digits = number.toString(16)
  return `0x${digits.length % 2 === 0 ? '' : '0'}${digits}`
}

/** Those that every header has. */
const ALWAYS = FIELDS.findIndex(([name]) => name === 'nonce') + 1

/**
 * Whether a block's hash is the hash of this very header: only then does the header say anything that its node did not
 * make up. False also where the chain hashes other fields. No field may be left out between others: each value could
 * else stand under the name of the next one, as the gas under that of the time.
 */
export function isProven(block: RpcBlock): boolean {
  const header = block as unknown as Record<string, string | null | undefined>
  const values = FIELDS.map(([name]) => header[name] ?? undefined)
  const count = values.findLastIndex((value) => value !== undefined) + 1
  if (count < ALWAYS || values.slice(0, count).includes(undefined)) return false
  try {
    const items = values.slice(0, count).map((value, index) => {
      return FIELDS[index]?.[1] === 'number' ? toBytes(value as string) : (value as Hex)
    })
    return keccak256(toRlp(items)) === block.hash.toLowerCase()
  } catch {
    return false
  }
}
