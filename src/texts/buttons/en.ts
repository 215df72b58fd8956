import type { ButtonTexts } from '../button-texts.ts'

export const en: ButtonTexts = {
  opening: 'Preparing your payment…',
  goOn: 'Continue to payment',
  failedTitle: 'The payment cannot start',
  wrongSetUp: 'The shop’s button is not set up correctly. Please tell the shop.',
  unknownButton: 'This button does not exist any more. Please go back to the shop.',
  paidTitle: 'This purchase already has a payment',
  paid: 'It has arrived, is being confirmed or is under review. Please do not pay again; the shop will be notified.',
  later: 'There is no current exchange rate. Please try again in a minute.',
  tryAgain: 'Try again',
  newPage: 'The next step opens on its own page. Come back here afterwards; this page updates by itself.',
  openPage: 'Open the page',
  elsewhereTitle: 'The payment opens on its own page',
  elsewhere: 'This part of the page cannot show it.',
  elsewhereHint: (website, here) => `set for ${website}, opened at ${here}`,
}
