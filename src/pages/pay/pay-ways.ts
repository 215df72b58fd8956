import type { ChannelId } from '../../channels/channel.ts'
import { CHANNEL_NAMES } from '../../channels/channel-names.ts'
import { type Html, html } from '../../kernel/html.ts'
import { channelName, TEXTS } from '../../texts/languages.ts'
import type { WayTexts } from '../../texts/order-texts.ts'
import { NO_FACTS } from './pay-facts.ts'
import type { PaymentView } from './pay-money.ts'
import { form, type PageContext } from './pay-parts.ts'
import type { Choice, PayView } from './pay-service.ts'

type Group = keyof WayTexts['groups']

/** Payers group channels by where their money is. Most channels are exchanges; these are not. */
const NO_EXCHANGES: Readonly<Partial<Record<ChannelId, Group>>> = {
  crypto: 'wallet',
  'whitepay-non-custody': 'wallet',
  coinbase: 'onramp',
}
const groupOf = (channel: ChannelId): Group => NO_EXCHANGES[channel] ?? 'exchange'
const GROUPS: readonly Group[] = ['exchange', 'wallet', 'onramp']

/** A letter in a circle: our own mark, because a provider's logo belongs to the provider. */
const badge = (name: string): Html => html`<i class="badge" aria-hidden="true">${name.slice(0, 1)}</i>`

function wayForm(view: PayView, page: PageContext, choice: Choice, button: Html): Html {
  const network = choice.network && html`<input type="hidden" name="network" value="${choice.network.id}">`
  const again = view.requote && html`<input type="hidden" name="requote" value="1">`
  const channel = html`<input type="hidden" name="paymentChannel" value="${choice.channel}">`
  return form(view, page, 'accept', html`${channel}${network}${again}${button}`)
}

/** The shop's own text in the payer's language, otherwise ours. */
const nameOf = ({ channel, rule }: Choice, { texts, language }: PageContext): string =>
  rule.texts[language]?.label ?? channelName(texts, channel)

function wayButton(view: PayView, page: PageContext, choice: Choice): Html {
  const { texts, language } = page
  const hint = choice.rule.texts[language]?.hint
  const { lastUsed } = TEXTS[language].order.ways
  const notes = [
    choice.network && texts.onNetwork(choice.network.name),
    hint,
    page.lastUsed === choice.channel && lastUsed,
  ]
  const small = notes.filter(Boolean).join(' · ')
  const button = html`<button class="choice">${badge(CHANNEL_NAMES[choice.channel])}<b>${nameOf(choice, page)}</b>${small !== '' && html` <span>${small}</span>`}</button>`
  return wayForm(view, page, choice, button)
}

/** The only way to pay, as the one large button. */
function onlyWay(view: PayView, page: PageContext, choice: Choice): Html {
  const { situations, ways } = TEXTS[page.language].order
  const channel = nameOf(choice, page)
  const hint = choice.rule.texts[page.language]?.hint
  const label = view.requote ? ways.newPriceWith(channel) : situations.choose.next({ ...NO_FACTS, channel })
  return html`${wayForm(view, page, choice, html`<button class="main">${label}</button>`)}${hint && html`<p class="hint">${hint}</p>`}`
}

/** Position of the shop's first channel in a group. */
const placeOf = ([, members]: [Group, Choice[]]): number =>
  Math.min(...members.map(({ rule }) => rule.position ?? Number.MAX_SAFE_INTEGER))

/** Sorted as the shop chose, with the last used channel first in its group, and its group first. */
function sorted(choices: readonly Choice[], lastUsed: string | null): [Group, Choice[]][] {
  const isLast = (one: Choice): number => (one.channel === lastUsed ? 0 : 1)
  const groups = GROUPS.map((group): [Group, Choice[]] => [
    group,
    choices.filter(({ channel }) => groupOf(channel) === group).toSorted((a, b) => isLast(a) - isLast(b)),
  ])
  const holdsLast = ([, members]: [Group, Choice[]]): number => Math.min(1, ...members.map(isLast))
  const used = groups.filter(([, members]) => members.length > 0)
  return used.toSorted((a, b) => holdsLast(a) - holdsLast(b) || placeOf(a) - placeOf(b))
}

/** Ways to pay, grouped, with cost and duration of each group. */
export function ways(view: PayView, page: PageContext, offered = view.choices): Html {
  const [only] = view.choices
  if (only && view.choices.length === 1 && offered.length === 1) return onlyWay(view, page, only)
  const { groups, notes } = TEXTS[page.language].order.ways
  return html`${sorted(offered, page.lastUsed).map(
    ([group, members]) => html`<section class="ways"><h3>${groups[group]}</h3><p class="hint">${notes[group]}</p>
      ${members.map((choice) => wayButton(view, page, choice))}</section>`,
  )}`
}

/** Whether the payment was chosen so. A choice without networks takes the payment's, whichever its provider uses. */
export const isOf = ({ channel, network }: Choice, payment: PaymentView | null): boolean =>
  channel === payment?.channel && (network === null || network.id === payment.network?.id)

/** The ended order at today's rate: in one tap as before, or another way. */
export function requoteWays(view: PayView, page: PageContext): Html {
  const texts = TEXTS[page.language].order.ways
  const same = view.situation === 'error' ? undefined : view.choices.find((choice) => isOf(choice, view.payment))
  const others = view.choices.filter((choice) => choice !== same)
  const another = same
    ? html`<details id="another"><summary>${texts.otherWays}</summary>${ways(view, page, others)}</details>`
    : ways(view, page, others)
  return html`<p class="hint">${texts.newPriceHint}</p>${same && onlyWay(view, page, same)}${others.length > 0 && another}`
}
