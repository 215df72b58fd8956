/** What a buyer reads between a shop's button and the pay page. */
export type ButtonTexts = {
  /** While the order is being made. */
  opening: string
  /** Without a script: leads on. */
  goOn: string
  failedTitle: string
  /** The shop made a mistake that the buyer cannot mend. */
  wrongSetUp: string
  unknownButton: string
  paidTitle: string
  paid: string
  /** No fresh rate, or the service is busy. */
  later: string
  tryAgain: string
  /** Inside a frame: the identity check needs a page of its own. */
  newPage: string
  openPage: string
  /** In a frame of another website than the button's, where the payment may not be shown. */
  elsewhereTitle: string
  elsewhere: string
  /** For the shop's developer: both are origins. */
  elsewhereHint: (website: string, here: string) => string
}
