import { getAddress } from 'viem/utils'
import { type Html, html } from '../../kernel/html.ts'
import { TEXTS } from '../../texts/languages.ts'
import { NO_FACTS, showUsdc } from './pay-facts.ts'
import { askBack, contact } from './pay-help.ts'
import type { RefundView } from './pay-money.ts'
import {
  busy,
  ended,
  fact,
  longFact,
  type PageContext,
  receipt,
  situationTexts,
  transactionFact,
  words,
} from './pay-parts.ts'
import type { PayView } from './pay-service.ts'

function refundFacts(refund: RefundView, page: PageContext): Html {
  const { texts, language } = page
  const { receipt: labels, situations } = TEXTS[language].order
  const { status, situation, beside, address, txHash, network, amount, askUrl } = refund
  // until its destination is settled, the sentence says everything
  if (status === 'needs_address' || status === 'needs_approval')
    return html`${address && html`<p class="whole mono">${getAddress(address)}</p>`}${askUrl && html`<a class="button ${situation === 'refundAddress' ? 'main' : 'wide'}" href="${askUrl}">${situations[situation].next(NO_FACTS)}</a>`}`
  const settled = beside ? labels.sentBackBeside : labels.sentBack
  return html`<dl class="facts box">
    ${fact(status === 'settled' ? settled : texts.amount, showUsdc(amount, page))}
    ${fact(texts.network, network?.name ?? null)}
    ${address && longFact(labels.sentTo, address)}
    ${txHash && transactionFact(txHash, network?.id ?? null, page)}
  </dl>`
}

/** Each refund with its amount, destination and transaction; partial refunds are marked as such. */
export const refundList = (view: PayView, page: PageContext): Html =>
  html`${view.refunds.map((refund) => refundFacts(refund, page))}`

/** The view as it is about one of several refunds. */
const aboutRefund = (view: PayView, refund: RefundView): PayView => ({
  ...view,
  situation: refund.situation,
  refunds: [refund],
})

/** Each open refund is told on its own: what it waits for, its amount, and where its payer names the address. */
function refundBox(view: PayView, refund: RefundView, page: PageContext): Html {
  const about = aboutRefund(view, refund)
  return html`<section class="box"><h3>${situationTexts(about, page).title}</h3>
    ${words(about, page, refund.askUrl === null)}${refundList(about, page)}</section>`
}

/** A box for each of these refunds, then the facts of the others. */
export function refundsOf(view: PayView, page: PageContext, isTold: (refund: RefundView) => boolean): Html {
  const others = { ...view, refunds: view.refunds.filter((refund) => !isTold(refund)) }
  return html`${view.refunds.filter(isTold).map((refund) => refundBox(view, refund, page))}${refundList(others, page)}`
}

export const isOpenRefund = ({ status }: RefundView): boolean => status !== 'settled'

/** Next to what is paid or refunded: other money that goes back, while it waits for a person. */
export const isAsked = ({ status }: RefundView): boolean => status === 'needs_approval' || status === 'needs_address'

/** What a refund leaves as it was: the order is paid, and perhaps with more than its price. */
function stillPaid(view: PayView, page: PageContext): Html | null {
  if (view.paidAt === null) return null
  const isOver = view.surplus.units > 0n
  const paid: PayView = { ...view, situation: isOver ? 'overpaid' : 'paid' }
  return html`<section class="box"><h3>${situationTexts(paid, page).title}</h3>${words(paid, page, isOver)}
    ${receipt(view, page)}</section>`
}

export function refunding(view: PayView, page: PageContext): Html {
  // the title is about the newest open one
  const first = view.refunds.findLast(isOpenRefund)
  const about = first ? aboutRefund(view, first) : view
  const rest = { ...view, refunds: view.refunds.filter((refund) => refund !== first) }
  return html`${busy(view, page)}${words(about, page, first?.askUrl == null)}${first && refundList(about, page)}
    ${refundsOf(rest, page, isOpenRefund)}${stillPaid(view, page)}${askBack(view, page)}${contact(view, page)}`
}

/** Next to a refund: what the payer sent too much, and has not got back. */
const surplusNote = (view: PayView, page: PageContext): Html | null =>
  view.surplus.units > 0n ? words({ ...view, situation: 'overpaid' }, page) : null

export const refunded = (view: PayView, page: PageContext): Html =>
  html`${ended(view, page, 'back')}${words(view, page)}${surplusNote(view, page)}${askBack(view, page)}${refundsOf(view, page, isAsked)}${receipt(view, page)}${contact(view, page)}`
