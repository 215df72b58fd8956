import type { Channel, ChannelId } from '../../channels/channel.ts'
import { checkUnsold, lockPurchase } from '../../companies/button-landing.ts'
import { lockActor } from '../../companies/company-scope.ts'
import type { Tx } from '../../db/db.ts'
import { hasStanding } from '../../http/actor.ts'
import { nameOf, type RequestContext } from '../../http/request-context.ts'
import { crashPoint } from '../../kernel/crash-point.ts'
import { AppError, invalid } from '../../kernel/errors.ts'
import type { Order } from '../../orders/order.ts'
import { updateOrderAnonymous } from '../../orders/order-queries.ts'
import { readShopWord } from '../../orders/order-rules.ts'
import { findReachableOrder, lockReachableOrder } from '../../orders/order-service.ts'
import { nextStatus, REQUOTE_HINT } from '../../orders/order-states.ts'
import { readPayerAddress } from '../../payers/payer-address.ts'
import { checkIdentity, notePayerEmail, writePayerAudit } from '../../payers/payer-service.ts'
import { writerOf } from '../../payers/payer-word.ts'
import { findEuroRate } from '../../rates/euro.ts'
import { lockPayment, type Payment, updatePayment } from '../payment-queries.ts'
import { ACCOUNT_REMOVED } from '../payment-rules.ts'
import type { AcceptBody } from '../payment-schemas.ts'
import { type Accepted, createAtProvider } from './create-at-provider.ts'
import { checkOffer, findNetworkFault, findRuleFault, notAvailable, unavailableNow } from './offers.ts'
import { reopenPayment } from './reopen-payment.ts'
import { explainReopening, type FreshQuote, findFreshQuote, repriceOrder } from './requote.ts'
import { findSamePayment } from './same-payment.ts'
import { type AcceptDeps, startPayment } from './start-payment.ts'

export type AcceptRequest = {
  context: RequestContext
  code: string
  body: AcceptBody
}

/** The address of a payer, if a payer sent the request: staff and servers of a shop have standing. */
const payerIpOf = ({ actor, ip }: RequestContext): string | null => (hasStanding(actor) ? null : ip)

function readNetwork(channel: Channel, network: number | undefined): number | null {
  if (channel.networks.length === 0) return null
  const [only] = channel.networks
  const offered = channel.networks.join(', ')
  if (network === undefined) {
    if (channel.networks.length > 1) throw invalid('network', `is required here; choose one of: ${offered}`)
    return only ?? null
  }
  if (!channel.networks.includes(network)) throw invalid('network', `is not offered here; choose one of: ${offered}`)
  return network
}

/**
 * Abandons the previous attempt: a job closes it at its provider. Money that still arrives there is noticed.
 * @returns that attempt, if there is one
 */
async function abandonPayment({ channels }: AcceptDeps, tx: Tx, order: Order, now: Date): Promise<Payment | undefined> {
  if (order.paymentId === null) return undefined
  const payment = await lockPayment(tx, order.companyId, order.paymentId)
  if (!payment || payment.status === 'closed' || payment.status === 'failed') return payment
  const isReachable = (await channels.forPayment(payment, tx)) !== undefined
  // with only dust, or money that is already decided about, the order is AWAITING
  if (payment.status === 'confirming') {
    const rest = (await channels.forPayer(payment, tx))
      ? 'Pay the rest the same way.'
      : 'The shop no longer uses its account there: do not pay the rest; ask the shop.'
    throw new AppError('ORDER_STATE_CONFLICT', {
      message: `Money has arrived through ${payment.channel} already; the channel cannot be changed. ${rest}`,
    })
  }
  const providerStatus = isReachable ? 'another channel was chosen' : ACCOUNT_REMOVED
  await updatePayment(tx, payment, { status: 'closing', providerStatus, nextCheckAt: now, checks: 0 }, now)
  return payment
}

/** What was said with an attempt holds for the next one: its payer, who chooses another way, cannot say it again. */
const withEarlier = (said: SaidAtAccept, earlier: SaidAtAccept | undefined): SaidAtAccept => ({
  cancelUrl: said.cancelUrl ?? earlier?.cancelUrl ?? null,
  returnUrl: said.returnUrl ?? earlier?.returnUrl ?? null,
  ...(said.userAddress === null && earlier
    ? { userAddress: earlier.userAddress, userAddressBy: earlier.userAddressBy }
    : { userAddress: said.userAddress, userAddressBy: said.userAddressBy }),
})

type SaidAtAccept = Pick<Payment, 'cancelUrl' | 'returnUrl' | 'userAddress' | 'userAddressBy'>

type Choice = {
  companyId: string
  channel: Channel
  own: boolean
  accountMark: string | null
  network: number | null
  networkFault: string | null
  ruleFault: string | null
  fresh: FreshQuote | null
}

/** Reads the choice and checks that this order can be paid that way, before anything is stored. */
async function readChoice(deps: AcceptDeps, request: AcceptRequest): Promise<Choice> {
  const order = await findReachableOrder(deps.db, request.context.actor, request.code)
  const set = await deps.channels.of(order.companyId)
  const id = request.body.paymentChannel as ChannelId
  const channel = set.get(id)
  const network = readNetwork(channel, request.body.network)
  const price = { due: order.to, fiat: order.from, euroRate: () => findEuroRate(deps.payers) }
  if (order.paymentChannel !== id) await checkOffer(set, id, price)
  const fresh = await findFreshQuote(deps, order, { asked: request.body.requote ?? false, channel, network })
  const networkFault = await findNetworkFault(channel, network)
  const ruleFault = (await findRuleFault(set.rule(id), price))?.sentence ?? null
  const account = { own: set.isOwn(id), accountMark: set.accountMarks(id)[0] ?? null }
  return { companyId: order.companyId, channel, ...account, network, networkFault, ruleFault, fresh }
}

type OpenedPayment = { order: Order; payment: Payment; channel: Channel; fresh: boolean } | { refused: AppError }

/** Stores the choice before the provider is called. */
async function openPayment(deps: AcceptDeps, request: AcceptRequest, choice: Choice): Promise<OpenedPayment> {
  const { body, context } = request
  const { channel, own, accountMark, network } = choice
  const given = body.userAddress
  const userAddress = given === undefined ? null : await readPayerAddress(deps.payers, deps.db, 'userAddress', given)
  const { cancelUrl, returnUrl, anonymous } = readShopWord(context.actor, body)
  const euroRate = await findEuroRate(deps.payers)
  return deps.db.tx(async (tx) => {
    // only naming the payer needs it: a lock of the seller would cost every other sale
    if (body.payerEmail !== undefined || userAddress !== null) await lockActor(tx, context.actor, choice.companyId)
    const now = new Date(deps.clock())
    const locked = await lockReachableOrder(tx, context.actor, request.code)
    const hides = anonymous && !locked.anonymous
    if (hides) await lockPurchase(tx, locked)
    const found = hides ? await updateOrderAnonymous(tx, locked, now) : locked
    const by = { actor: nameOf(context), requestId: context.requestId }
    const { order, trigger, change } = await repriceOrder(deps, tx, found, { ...choice, by })
    const same = found === order ? await findSamePayment(deps, tx, order, choice) : undefined
    const email = body.payerEmail ?? null
    const noteEmail = async (): Promise<void> => {
      if (email !== null) await notePayerEmail(deps.payers, tx, { order, actor: context.actor, euroRate }, email)
    }
    // the address to pay from was chosen with the payment
    const fields = [...(email === null ? [] : ['email']), ...(userAddress === null || same ? [] : ['userAddress'])]
    const noteWriter = async (): Promise<void> => {
      if (fields.length > 0) await writePayerAudit(deps.payers, tx, context, { order, fields })
    }
    if (same) {
      await noteEmail()
      const refused = await deps.gate.admit(tx, order, { email, euroRate, again: true, by: context })
      await noteWriter()
      return refused ? { refused } : { order, ...same, fresh: false }
    }
    if (order.status === 'INITIAL') await checkUnsold(tx, order, deps.dustUnits)
    if (choice.ruleFault !== null) throw notAvailable(channel.id, choice.ruleFault)
    if (choice.networkFault !== null) throw unavailableNow(channel.id, choice.networkFault)
    nextStatus(order.status, trigger)
    if (order.expiresAt <= now) {
      throw new AppError('ORDER_STATE_CONFLICT', { message: `The time to pay this order is over. ${REQUOTE_HINT}` })
    }
    await checkIdentity(deps.payers, tx, order, { email, euroRate })
    await noteEmail()
    const refused = await deps.gate.admit(tx, order, { email, euroRate, by: context })
    if (refused) {
      await noteWriter()
      return { refused }
    }
    const earlier = await abandonPayment(deps, tx, order, now)
    const userAddressBy = userAddress === null ? null : writerOf(context.actor)
    const said = withEarlier({ cancelUrl, returnUrl, userAddress, userAddressBy }, earlier)
    const account = { channel: channel.id, own, accountMark, network }
    // for the shop's own eyes, in the order's story
    const { pos = null, pastOrders = null } = hasStanding(context.actor) ? body : {}
    const place = { ...account, pos, pastOrders, ...said }
    const attempt = { choice: place, move: { ...by, trigger, change } }
    const reopened = await reopenPayment(deps, tx, order, attempt)
    const opened = reopened ?? (await startPayment(deps, tx, order, attempt))
    await noteWriter()
    return { ...opened, channel, fresh: !reopened }
  })
}

/**
 * Accepts an order with a channel and returns what the payer needs. Repeating it with the same channel returns the same
 * instructions. If the provider does not answer, the order stays PENDING, a job finds out later, and the request gets
 * CHANNEL_UNAVAILABLE.
 */
export async function acceptOrder(deps: AcceptDeps, request: AcceptRequest): Promise<Accepted> {
  const choice = await readChoice(deps, request)
  const attempt = await openPayment(deps, request, choice).catch((error: unknown) => {
    throw explainReopening(error)
  })
  if ('refused' in attempt) throw attempt.refused
  const { order, payment, channel, fresh } = attempt
  crashPoint('accept:after-choice')
  const payer = { email: request.body.payerEmail ?? null, ip: payerIpOf(request.context) }
  const accepted = await createAtProvider(deps, { channel, order, payment, payer, context: request.context }, fresh)
  crashPoint('accept:after-forward')
  if (!PAYABLE.includes(accepted.status)) {
    throw new AppError('ORDER_STATE_CONFLICT', {
      message: `The order is now ${accepted.status}. Do not pay; create a new order.`,
    })
  }
  return accepted
}

const PAYABLE: readonly string[] = ['AWAITING', 'WAITING_CHAIN_CONFIRMATION', 'PAID']
