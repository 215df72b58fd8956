import { Ajv } from 'ajv'
import { formatDecimal } from '../../kernel/money.ts'
import { BatchSchema, networkOf, type SweepBatch, type SweepDeposit, sweepNonceOf } from './sweep-batch.ts'

/* In a file of its own: only a command reads batches, and a normal start need not load the validator. */
const isBatch = new Ajv({ strict: false }).compile<SweepBatch>(BatchSchema)

/** @throws Error naming what is wrong with the file */
export function parseBatch(text: string): SweepBatch {
  let parsed: unknown
  try {
    parsed = JSON.parse(text)
  } catch {
    throw new Error('The file is not JSON. Give the file that `comptoir sweep --out FILE` wrote.')
  }
  if (!isBatch(parsed)) {
    const [fault] = isBatch.errors ?? []
    throw new Error(`The file is no batch of \`comptoir sweep\`: ${fault?.instancePath ?? ''} ${fault?.message ?? ''}.`)
  }
  for (const deposit of parsed.deposits) checkDeposit(parsed, deposit)
  return parsed
}

/** Redundant parts of one entry must agree. */
function checkDeposit(batch: SweepBatch, deposit: SweepDeposit): void {
  const { id, network, address, units, amount } = deposit
  networkOf(batch, deposit)
  const isWhole = id.startsWith(`sweep:${network}:${address.toLowerCase()}:`) && deposit.nonce === sweepNonceOf(id)
  if (!isWhole || formatDecimal(BigInt(units), 6) !== amount)
    throw new Error(`The file was changed: id, nonce and amount of ${address} do not belong together.`)
}
