import { openBinance } from './binance.ts'
import type { Imitation, ImitationOptions } from './imitation.ts'
import { openKucoinpay } from './kucoinpay.ts'

/** Every provider that the sandbox imitates. */
export const IMITATIONS: readonly ((options: ImitationOptions) => Imitation)[] = [openBinance, openKucoinpay]
