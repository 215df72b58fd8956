/**
 * Texts for a payer while a wallet in the browser pays. The page's script fills in the placeholders: `{wallet}`,
 * `{network}`, `{amount}`, `{have}`, `{coin}`, `{time}`, `{sum}`, `{to}`, `{shop}`, `{order}`.
 */
export type WalletTexts = {
  pay: string
  /** A wallet that does not state its name. */
  unnamed: string
  connecting: string
  switching: string
  confirming: string
  /** Without a fee: the wallet only signs. */
  signing: string
  sending: string
  /** It is in a block. */
  sent: string
  slow: string
  /** Its transaction is in a block, and has not paid the order. */
  uncounted: string
  /** `{sum}` was sent to `{to}` on a network that the service reads no more. */
  unread: string
  retry: string
  /** What was signed is not in a block yet, and can be carried out until `{time}`. */
  underway: string
  /** What was signed has run out. */
  lapsed: string
  again: string
  /** Stops waiting for a wallet that does not answer. */
  stop: string
  transaction: string
  rejected: string
  locked: string
  wrongNetwork: string
  unknownNetwork: string
  tooLittle: string
  noFee: string
  reverted: string
  refused: string
  changed: string
  /** Failed before anything was sent. */
  failed: string
  /** It is unknown whether anything was sent. */
  unsure: string
  /** Above the links to wallet apps. */
  apps: string
}
