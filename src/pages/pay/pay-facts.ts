import type { ChannelId } from '../../channels/channel.ts'
import { CHANNEL_NAMES } from '../../channels/channel-names.ts'
import type { Money } from '../../kernel/money.ts'
import { channelName } from '../../texts/languages.ts'
import type { Facts } from '../../texts/order-texts.ts'
import type { PayTexts } from '../../texts/page-texts.ts'
import { showToken } from '../shared/format.ts'
import type { RefundView } from './pay-money.ts'
import type { PayView } from './pay-service.ts'

/** What sentences need of a page. */
type Told = { texts: PayTexts; locale: string }

export const showUsdc = (money: Money, { locale }: Pick<Told, 'locale'>): string => `${showToken(money, locale)} USDC`

const sentBack = (refunds: readonly RefundView[]): Money => ({
  asset: 'USDC',
  units: refunds.reduce((sum, { status, amount }) => (status === 'settled' ? sum + amount.units : sum), 0n),
})

const openRefundOf = ({ refunds }: PayView): RefundView | undefined =>
  refunds.findLast(({ status }) => status !== 'settled')

/** The amount that the sentences of a situation mention. */
function amountOf(view: PayView): Money {
  const { situation, payment, refunds, received, coming } = view
  if (situation === 'sentBack') return sentBack(refunds)
  if (situation.startsWith('refunded')) return view.refunded
  if (situation.startsWith('refund')) return openRefundOf(view)?.amount ?? view.due
  if (situation === 'overpaid') return view.surplus
  if (situation === 'late') return received.amount
  if (situation === 'onItsWayEnded') return coming
  return payment?.missing ?? view.due
}

/** The amount to pay; after a refund what was paid, which may be more than the price or an accepted part of it. */
function dueOf({ situation, payment, due }: PayView): Money {
  const isPaid = situation.startsWith('refunded') && payment && payment.arrived.units > 0n
  return isPaid ? payment.arrived : (payment?.due ?? due)
}

/**
 * It sends back what is too little, and the payer answers its mail to get that (help.crypto.com, articles/4383038). So
 * it does before a refund of what came from a wallet (articles/6063059).
 */
const MAILS_PAYER: readonly ChannelId[] = ['cryptopay']

function restOf({ payment }: PayView): Facts['rest'] {
  if (!payment || payment.instructions?.toAddress) return 'address'
  return MAILS_PAYER.includes(payment.channel) ? 'whole' : 'provider'
}

/** The provider's name as sentences use it, which a way to pay may call otherwise. */
export const providerName = (texts: PayTexts, channel: ChannelId): string =>
  channel === 'crypto' ? channelName(texts, channel) : CHANNEL_NAMES[channel]

/** For the words of a button, which name at most the channel. */
export const NO_FACTS: Facts = {
  merchant: '',
  code: '',
  amount: '',
  due: '',
  network: '',
  channel: '',
  token: '',
  shown: null,
  rest: 'address',
  confirms: '',
  ending: 'other',
  mailer: '',
}

/** Facts that the sentences about an order use. */
export function factsOf(view: PayView, page: Told): Facts {
  const { payment } = view
  const refunds = openRefundOf(view)?.channel
  return {
    merchant: view.shop.name,
    code: view.shortCode,
    amount: showUsdc(amountOf(view), page),
    due: showUsdc(dueOf(view), page),
    network: payment?.network?.name ?? '',
    channel: payment ? providerName(page.texts, payment.channel) : '',
    token: view.foreignToken ?? '',
    shown: view.shown,
    rest: restOf(view),
    confirms: view.confirms === null ? '' : CHANNEL_NAMES[view.confirms],
    ending: view.ending,
    mailer: refunds && MAILS_PAYER.includes(refunds) ? CHANNEL_NAMES[refunds] : '',
  }
}
