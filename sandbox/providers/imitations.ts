import { openCoinbase } from './coinbase.ts'
import type { Imitation, ImitationOptions } from './imitation.ts'
import { openWhitepay } from './whitepay.ts'

/** Every provider that the sandbox imitates. */
export const IMITATIONS: readonly ((options: ImitationOptions) => Imitation)[] = [openCoinbase, openWhitepay]
