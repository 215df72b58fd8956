import { openBinance } from './binance.ts'
import { openCoinbase } from './coinbase.ts'
import { openCryptopay } from './cryptopay.ts'
import { openGatepay } from './gatepay.ts'
import type { Imitation } from './imitation.ts'
import type { ImitationOptions } from './imitation-options.ts'
import { openKucoinpay } from './kucoinpay.ts'
import { openWhitepay } from './whitepay.ts'

/** Every provider that the sandbox imitates. */
export const IMITATIONS: readonly ((options: ImitationOptions) => Imitation)[] = [
  openBinance,
  openCoinbase,
  openCryptopay,
  openGatepay,
  openKucoinpay,
  openWhitepay,
]
