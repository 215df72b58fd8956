/** Texts for a buyer between a shop's button and the pay page. */
export type ButtonTexts = {
  /** While the order is being created. */
  opening: string
  /** Without a script: label of the button that continues. */
  goOn: string
  failedTitle: string
  /** A mistake of the shop that the buyer cannot fix. */
  wrongSetUp: string
  unknownButton: string
  paidTitle: string
  paid: string
  /** No fresh rate, or the service is busy. */
  later: string
  tryAgain: string
  /** Inside a frame: the identity check needs its own page. */
  newPage: string
  openPage: string
  /** In a frame of another website than the button's, where payments are not allowed. */
  elsewhereTitle: string
  elsewhere: string
  /** For the shop's developer: both are origins. */
  elsewhereHint: (website: string, here: string) => string
}
