import type { Order } from '../../sdk/index.ts'
import { until } from '../sandbox.ts'
import type { Play } from './events.ts'
import { EVENT_PLAYS } from './events.ts'
import type { Channel, Stage } from './stage.ts'

type Told = { channel: Channel; seconds?: number; pays?: boolean; ends: Order['status'] }

/** Arms a story, lets the payer pay, and waits for the result. */
async function tell(stage: Stage, name: string, { channel, seconds, pays = true, ends }: Told): Promise<Order> {
  await stage.sandbox.tell(name, { provider: channel, ...(seconds ? { seconds } : {}) })
  stage.say(`${channel} is armed with ${name}`)
  const order = await stage.order()
  const reference = await stage.acceptSomehow(order, channel)
  if (pays) await stage.pay(reference)
  return stage.becomes(order, ends)
}

async function refusedIdentity(stage: Stage): Promise<Order> {
  await stage.sandbox.tell('kyc-refused')
  const { client, sandbox } = stage
  const order = await stage.order()
  const email = `refused-${order.shortCode}@mail.example`.toLowerCase()
  await client.api.setPayerEmail({ code: order.code, body: { email } })
  const { kycId, url } = await client.api.startKyc({ body: { code: order.code } })
  await fetch(url)
  await sandbox.decideIdentity(kycId, 'approve')
  await until('The refusal', async () => {
    return (await client.api.getKyc({ id: kycId })).status === 'refused' ? true : undefined
  })
  stage.say(`${order.code}: the identity check is refused`)
  return order
}

/** The provider refuses the request itself, so the payer chooses another channel. */
async function tellRefusal(stage: Stage, name: string): Promise<Order> {
  await stage.sandbox.tell(name, { provider: 'kucoinpay', seconds: 4 })
  const order = await stage.order()
  // a payer takes another channel at once, and does not wait until the circuit closes
  const refused = stage.accept(order, 'kucoinpay', { maxRetries: 0 })
  await refused.catch((error: unknown) => stage.say(`${order.code}: ${String(error)}`))
  await stage.pay(await stage.accept(order, 'binance'))
  return stage.becomes(order, 'PAID')
}

/** Runs a refund with a refund story; a held refund is released at the end. */
async function tellRefund(stage: Stage, name: string, frees: boolean): Promise<Order> {
  const order = await stage.order()
  const reference = await stage.accept(order, 'binance')
  await stage.pay(reference)
  await stage.becomes(order, 'PAID')
  await stage.sandbox.tell(name, { provider: 'binance' })
  await stage.client.orders.refund(order.code)
  await stage.becomes(order, ['REFUNDING', 'FULL_REFUNDED'])
  if (!frees) return stage.becomes(order, 'FULL_REFUNDED')
  return until(
    'The refund',
    async () => {
      // it can be released once the provider has it
      await stage.sandbox.act(reference, 'refund-settle')
      const { status } = await stage.client.orders.get(order.code)
      return status === 'FULL_REFUNDED' ? order : undefined
    },
    60_000,
  )
}

const NOT_SCREENED =
  'This sandbox does not screen with its own imitation, so nothing was held: its service runs with other settings. Take ' +
  'KYT_CHAINALYSIS_BASE_URL and KYT_CHAINALYSIS_API_KEY from '

/**
 * A payment from the test wallet while its screening is in trouble.
 * @throws Error where the service does not ask the sandbox's screening
 */
async function tellScreening(
  stage: Stage,
  name: string,
  told: { seconds?: number; ends: Order['status'] },
): Promise<Order> {
  const { client, sandbox } = stage
  const { seconds, ends } = told
  await sandbox.tell(name, seconds ? { seconds } : {})
  try {
    const order = await stage.order()
    const to = await stage.accept(order, 'crypto')
    await sandbox.payFromWallet(to, order.toAmount)
    const reached = await stage.becomes(order, ['PAID', 'KYT_FAILED'])
    const { entries } = await client.api.getOrderStory({ code: order.code })
    const isScreened = entries.some(({ kind }) => kind === 'screening')
    if (reached.status !== ends || !isScreened) throw new Error(`${NOT_SCREENED}${sandbox.screeningUrl}.`)
    return reached
  } finally {
    await sandbox.resetScreening()
  }
}

/** Trouble as it happens at providers; docs/sandbox.md describes what to expect. */
export const STORY_PLAYS: Record<string, Play> = {
  'timeout-after-acceptance': {
    description: 'the provider makes the payment, and its answer never comes',
    act: (stage) => tell(stage, 'timeout-after-acceptance', { channel: 'kucoinpay', ends: 'PAID' }),
  },
  'duplicate-callbacks': {
    description: 'each callback comes twice',
    act: (stage) => tell(stage, 'duplicate-callbacks', { channel: 'kucoinpay', ends: 'PAID' }),
  },
  'reordered-callbacks': {
    description: 'the first callback comes last',
    act: (stage) => tell(stage, 'reordered-callbacks', { channel: 'kucoinpay', ends: 'PAID' }),
  },
  'forged-callback': {
    description: 'someone without the key says "paid"; then the payer pays',
    act: (stage) => tell(stage, 'forged-callback', { channel: 'kucoinpay', ends: 'PAID' }),
  },
  'unknown-status': {
    description: 'the provider uses a word that is not documented, until the payer pays',
    act: (stage) => tell(stage, 'unknown-status', { channel: 'kucoinpay', ends: 'PAID' }),
  },
  outage: {
    description: 'the provider answers 503 for four seconds',
    act: (stage) => tell(stage, 'outage', { channel: 'binance', seconds: 4, ends: 'PAID' }),
  },
  'credentials-refused': {
    description: 'the provider refuses our key; the payer takes another channel',
    act: (stage) => tellRefusal(stage, 'credentials-refused'),
  },
  'clock-skew': {
    description: 'the provider’s clock is ten minutes ahead; the payer takes another channel',
    act: (stage) => tellRefusal(stage, 'clock-skew'),
  },
  'late-payment': {
    description: 'the provider’s time is over, and then the payer pays',
    act: (stage) => tell(stage, 'late-payment', { channel: 'kucoinpay', pays: false, ends: 'PAID' }),
  },
  'partial-refund': {
    description: 'half goes back from the provider’s console',
    act: (stage) => tell(stage, 'partial-refund', { channel: 'cryptopay', ends: 'REFUNDED' }),
  },
  'refund-pending': {
    description: 'a refund neither arrives nor fails, until the provider lets it go',
    act: (stage) => tellRefund(stage, 'refund-pending', true),
  },
  'refund-timeout-after-acceptance': {
    description: 'the provider takes a refund, and its answer never comes',
    act: (stage) => tellRefund(stage, 'refund-timeout-after-acceptance', false),
  },
  'kyt-blocked': {
    description: 'the provider’s own screening holds the payment',
    act: (stage) => tell(stage, 'kyt-blocked', { channel: 'gatepay', ends: 'KYT_FAILED' }),
  },
  'kyt-sanctioned': {
    description: 'the screening lists the payer’s wallet',
    act: (stage) => tellScreening(stage, 'kyt-sanctioned', { ends: 'KYT_FAILED' }),
  },
  'kyt-outage': {
    description: 'the screening answers 503 for four seconds',
    act: (stage) => tellScreening(stage, 'kyt-outage', { seconds: 4, ends: 'PAID' }),
  },
  'kyc-refused': { description: 'the next identity check is refused', act: refusedIdentity },
}

export const PLAYS: Record<string, Play> = { ...EVENT_PLAYS, ...STORY_PLAYS }
