import { Ajv } from 'ajv'
import { formatDecimal } from '../../kernel/money.ts'
import { BatchSchema, networkOf, type SweepBatch, type SweepDeposit, sweepNonceOf } from './sweep-batch.ts'

/* Apart from the rest of a batch: only a command reads one, and no start needs to load the checker. */
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

/** Parts of one entry that repeat each other must agree. */
function checkDeposit(batch: SweepBatch, deposit: SweepDeposit): void {
  const { id, network, address, units, amount } = deposit
  networkOf(batch, deposit)
  const isWhole = id.startsWith(`sweep:${network}:${address.toLowerCase()}:`) && deposit.nonce === sweepNonceOf(id)
  if (!isWhole || formatDecimal(BigInt(units), 6) !== amount)
    throw new Error(`The file was changed: id, nonce and amount of ${address} do not belong together.`)
}
