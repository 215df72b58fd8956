import type { PayerConsole } from './payer-console.ts'
import type { Wallet } from './wallet.ts'

/** What an imitation is made with. */
export type ImitationOptions = {
  payerConsole: PayerConsole
  /** Address of the sandbox, without a trailing slash. */
  url: string
  /** Where the merchant's console sends callbacks: `…/api/next/channels/<channel>/callback` stands below it. */
  callbackBase: string
  /** Secrets that survive restarts, 32 bytes as hexadecimal text for each purpose. */
  secretOf(purpose: string): string
  now(): number
  /** The test chain, for providers that send there. */
  wallet: Wallet
}
