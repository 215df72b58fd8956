import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { Registry } from 'prom-client'
import { openChains } from '../src/chain/open-chains.ts'
import {
  CHANNEL_IDS,
  type Channel,
  type ChannelId,
  ON_CHAIN_CHANNELS,
  type PaymentKey,
} from '../src/channels/channel.ts'
import { openCryptoChannel, type PayableNetwork } from '../src/channels/crypto/adapter.ts'
import { readSettings, settingsOfEnv } from '../src/channels/kind.ts'
import { CHANNEL_KINDS } from '../src/channels/kinds.ts'
import { openProviderHttp } from '../src/channels/provider-http.ts'
import { sql } from '../src/db/db.ts'
import { type Callback, CallbackRefused } from '../src/kernel/callback.ts'
import { verifyLedger } from '../src/ledger/ledger-verify.ts'
import { type Client, logInSuperAdmin } from './harness/accounts.ts'
import { type CallbackView, type DeskView, type Market, openMarket } from './harness/market.ts'
import { listRefundsOf, newAddress, type RefundData } from './harness/refunds.ts'
import { eventually } from './harness/service.ts'

/*
 * What every channel promises, tried through the whole service against the imitation of its provider. A new channel
 * is one more line here.
 */
type Traits = {
  /** The imitation that plays it. */
  provider: string
  /** Whether the provider can close a payment that nobody has paid. */
  closes: boolean
  /** Who sends money back. */
  refunds: 'provider' | 'chain' | 'hand'
  /** What is left at the provider after a creation without an answer and a second accept. */
  afterTimeout: 'the same payment' | 'a new one, the first closed'
}

const CHANNELS: Partial<Record<ChannelId, Traits>> = {
  binance: { provider: 'binance', closes: true, refunds: 'provider', afterTimeout: 'a new one, the first closed' },
  whitepay: { provider: 'whitepay', closes: false, refunds: 'hand', afterTimeout: 'the same payment' },
  'whitepay-non-custody': { provider: 'whitepay', closes: false, refunds: 'hand', afterTimeout: 'the same payment' },
  cryptopay: { provider: 'cryptopay', closes: false, refunds: 'provider', afterTimeout: 'the same payment' },
  gatepay: { provider: 'gatepay', closes: true, refunds: 'provider', afterTimeout: 'the same payment' },
  coinbase: { provider: 'coinbase', closes: false, refunds: 'chain', afterTimeout: 'the same payment' },
  kucoinpay: { provider: 'kucoinpay', closes: true, refunds: 'provider', afterTimeout: 'a new one, the first closed' },
}

/** `CHANNELS=id,id` tries these alone. */
const only = process.env.CHANNELS?.split(',')
const runs = (id: string): boolean => only?.includes(id) ?? true
for (const id of only ?? [])
  assert.ok((CHANNEL_IDS as readonly string[]).includes(id), `CHANNELS names no channel: ${id}`)

let market: Market
let admin: Client
const closers: (() => Promise<void>)[] = []

before(async () => {
  // Gate wants ten seconds between a payment and its refund; what waits for them is tried in its own test
  market = await openMarket({ env: { CHANNEL_GATEPAY_REFUND_WAIT_SECONDS: '0' } })
  admin = await logInSuperAdmin(market.host)
})
after(async () => {
  await Promise.all(closers.map((close) => close()))
  await market?.stop()
})

/** The adapter by itself, with the credentials that the service has. */
function openAdapter(id: ChannelId): Channel {
  const kind = CHANNEL_KINDS.find((one) => one.id === id)
  assert.ok(kind, `${id} is known`)
  const reading = readSettings(kind, settingsOfEnv(kind, market.providers.credentials))
  assert.ok(reading.outcome === 'set', `${id} is set up by the imitation’s credentials`)
  const { config, db, service } = market.host
  const chains = openChains({ config, db, clock: Date.now, log: service.app.log, metrics: new Registry() })
  const wallet = openCryptoChannel({ db, clock: Date.now, payable: chains as PayableNetwork[] })
  const { http, close } = openProviderHttp(reading)
  closers.push(close)
  return kind.open(reading.values, { http, clock: Date.now, live: false, wallet })
}

async function keyOf(orderId: string): Promise<PaymentKey & { providerReference: string }> {
  const row = await market.host.db.one<{
    merchantReference: string
    providerReference: string
    network: number | null
  }>(
    sql`select merchant_reference, provider_reference, network from payments where order_id = ${orderId}
      order by number desc limit 1`,
  )
  return {
    ...row,
    companyId: market.merchant.companyId,
    due: { asset: 'USDC', units: 54_000_000n },
    fiat: { asset: 'EUR', units: 5000n },
    expiresAt: new Date(Date.now() + 300_000),
  }
}

const asCallback = ({ headers, body }: CallbackView): Callback => ({
  headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])),
  rawBody: Buffer.from(body),
})

/** The provider's last callback that speaks of one payment. */
async function lastCallback(provider: string, { reference, merchantReference }: DeskView): Promise<CallbackView> {
  const speaks = ({ body }: CallbackView): boolean => body.includes(reference) || body.includes(merchantReference)
  const seen = await eventually(
    async () => (await market.callbacksOf(provider)).filter(speaks),
    (callbacks) => callbacks.length > 0,
  )
  const last = seen.at(-1)
  assert.ok(last)
  return last
}

const newestRefund = async (orderId: string): Promise<RefundData | undefined> =>
  (await listRefundsOf(market, orderId)).at(-1)

/** Does what lies between a refund and its end, by whoever sends it. */
async function bringBack(traits: Traits, orderId: string): Promise<void> {
  if (traits.refunds === 'hand') {
    const refund = await eventually(
      () => newestRefund(orderId),
      (one) => /by hand/.test(one?.message ?? ''),
    )
    const proof = { reference: `withdrawal-${refund?._id}`, statement: 'sent from the console' }
    assert.equal((await admin.post(`refunds/${refund?._id}/settle`, proof)).status, 200)
  }
  await eventually(
    async () => {
      if (traits.refunds === 'chain') await market.chain.mine()
      return newestRefund(orderId)
    },
    (refund) => refund?.status === 'settled',
    20_000,
  )
}

const paidWebhooks = (code: string): string[] => market.eventsOf(code).filter((event) => event === 'order.paid')

for (const [id, traits] of (Object.entries(CHANNELS) as [ChannelId, Traits][]).filter(([id]) => runs(id))) {
  describe(id, () => {
    test('create, accept, pay at the provider: PAID, and the merchant hears of it once', async () => {
      const { order, reference } = await market.createAwaiting(id)
      await market.act(reference, 'pay')
      const paid = await market.reaches(order.code, 'PAID')
      assert.equal(paid.paymentChannel, id)
      await eventually(
        async () => paidWebhooks(order.code),
        (events) => events.length > 0,
      )
      assert.deepEqual(paidWebhooks(order.code), ['order.paid'])
      assert.deepEqual((await market.story(order._id)).mispayments, [])
    })

    test('accepting twice leads to one payment there', async () => {
      const order = await market.create()
      const [first, second] = [await market.accept(order.code, id), await market.accept(order.code, id)]
      assert.deepEqual([first.status, second.status], [200, 200], second.text)
      assert.equal(second.data.providerReference, first.data.providerReference)
      const many = await Promise.all([1, 2, 3, 4].map(() => market.accept(order.code, id)))
      assert.deepEqual(new Set(many.map(({ data }) => data.providerReference)), new Set([first.data.providerReference]))
      const open = (await market.paymentsOf(order._id)).map(({ merchantReference }) => merchantReference)
      assert.equal(new Set(open).size, 1)
      const { qrData, deepLink, checkoutUrl } = first.data
      assert.ok(qrData ?? deepLink ?? checkoutUrl, 'the payer gets something to pay with')
    })

    test('many accepts at the same moment lead to one payment there', async () => {
      const order = await market.create()
      const answers = await Promise.all([1, 2, 3, 4, 5, 6].map(() => market.accept(order.code, id)))
      assert.deepEqual([...new Set(answers.map(({ status }) => status))], [200], answers.map(({ text }) => text).join())
      assert.equal(new Set(answers.map(({ data }) => data.providerReference)).size, 1)
      const references = (await market.paymentsOf(order._id)).map(({ merchantReference }) => merchantReference)
      assert.equal(new Set(references).size, 1)
    })

    test('query and callback tell the same story; a changed byte and an old callback are refused', async () => {
      const { order, reference } = await market.createAwaiting(id)
      const channel = openAdapter(id)
      const key = await keyOf(order._id)
      const before = await channel.fetchPayment(key)
      assert.equal(
        before.outcome === 'seen' ? before.final + before.pending : before.outcome,
        before.outcome === 'seen' ? 0n : 'waiting',
      )
      const view = await market.act(reference, 'pay')
      await market.reaches(order.code, 'PAID')
      const callback = asCallback(await lastCallback(traits.provider, view))
      const news = await channel.readCallback?.(callback)
      const asked = await channel.fetchPayment(key)
      assert.ok(news && asked.outcome === 'seen')
      assert.equal(asked.final, 54_000_000n)
      const sameIds =
        news.merchantReference === key.merchantReference || news.providerReference === key.providerReference
      assert.ok(sameIds, 'the callback speaks of the payment that was asked about')
      // without the price at hand a callback may say less than the query, and never something else
      if (news.report?.outcome === 'seen') assert.equal(news.report.final + news.report.pending, asked.final)
      else assert.ok(['waiting', 'unknown'].includes(news.report?.outcome ?? 'waiting'), news.report?.outcome)
      const changed = Buffer.from(callback.rawBody)
      // in what every provider signs: the payment's own id
      const at =
        [view.merchantReference, view.reference].map((id) => changed.indexOf(id)).find((place) => place >= 0) ?? 0
      changed[at] = (changed[at] ?? 0) ^ 1
      await assert.rejects(async () => channel.readCallback?.({ ...callback, rawBody: changed }), CallbackRefused)
      await assert.rejects(
        async () => channel.readCallback?.({ headers: {}, rawBody: callback.rawBody }),
        CallbackRefused,
      )
    })

    test('a forged callback is refused with 401 and changes nothing', async () => {
      await market.tell('forged-callback', { provider: traits.provider })
      const { order, reference } = await market.createAwaiting(id)
      await new Promise((resolve) => setTimeout(resolve, 1500))
      assert.equal((await market.order(order.code)).status, 'AWAITING')
      const body = JSON.stringify({ reference, status: 'PAID', merchantTradeNo: order._id })
      const answer = await market.host.call('POST', `/api/next/channels/${id}/callback`, { raw: body })
      assert.deepEqual([answer.status, answer.error.code], [401, 'CALLBACK_REFUSED'], answer.text)
      assert.equal((await market.order(order.code)).status, 'AWAITING')
    })

    test('a word that nobody knows is unknown: nothing changes, and it is asked again', async () => {
      await market.tell('unknown-status', { provider: traits.provider })
      const { order, reference } = await market.createAwaiting(id)
      const confirm = await market.host.call('POST', `confirm/${order.code}`, { as: market.merchant })
      assert.equal(confirm.error.code, 'PAYMENT_NOT_RECEIVED')
      assert.equal((await market.order(order.code)).status, 'AWAITING')
      await market.act(reference, 'pay')
      await market.reaches(order.code, 'PAID')
    })

    test(`no answer after the provider accepted: ${traits.afterTimeout}`, async () => {
      await market.tell('timeout-after-acceptance', { provider: traits.provider })
      const order = await market.create()
      const first = await market.accept(order.code, id)
      assert.deepEqual([first.status, first.error?.code], [502, 'CHANNEL_UNAVAILABLE'], first.text)
      // a callback may have told of the payment meanwhile
      assert.ok(['PENDING', 'AWAITING'].includes((await market.order(order.code)).status))
      const second = await market.accept(order.code, id)
      assert.deepEqual([second.status, second.data?.status], [200, 'AWAITING'], second.text)
      const open = async (): Promise<Set<string>> =>
        new Set(
          (await market.paymentsOf(order._id))
            .filter(({ state }) => state === 'open')
            .map(({ merchantReference }) => merchantReference),
        )
      const left = await eventually(open, (references) => references.size === 1)
      assert.equal(left.size, 1, 'one payment is open there')
      const paid = (await market.paymentsOf(order._id)).find(
        ({ reference, merchantReference, state }) =>
          state === 'open' &&
          (traits.provider === 'coinbase' || reference === second.data.providerReference || merchantReference === ''),
      )
      assert.ok(paid, 'what the payer was given exists')
      await market.act(paid.reference, 'pay')
      await market.reaches(order.code, 'PAID')
    })

    test('cancelled here: closed there, or what comes all the same is kept for a person', async () => {
      const { order, reference } = await market.createAwaiting(id)
      const answer = await market.host.call('POST', `cancel/${order.code}`, { as: market.merchant })
      assert.equal(answer.status, 200)
      const look = async (): Promise<string | undefined> =>
        (await market.paymentsOf(order._id)).find((one) => one.reference === reference)?.state
      if (traits.closes) await eventually(look, (state) => state === 'closed')
      else {
        await market.act(reference, 'pay')
        const story = () => market.story(order._id)
        const { mispayments, status } = await eventually(story, (seen) => seen.mispayments.length > 0)
        assert.deepEqual([status, mispayments.map(({ kind }) => kind)], ['CANCELLED', ['late']])
      }
      assert.equal((await market.order(order.code)).status, 'CANCELLED')
    })

    test('callbacks twice, and in the wrong order: paid once', async () => {
      for (const story of ['duplicate-callbacks', 'reordered-callbacks']) {
        const { order, reference } = await market.createAwaiting(id)
        await market.tell(story, { provider: traits.provider })
        await market.act(reference, 'pay')
        await market.reaches(order.code, 'PAID')
        await eventually(
          async () => paidWebhooks(order.code),
          (events) => events.length > 0,
        )
        await new Promise((resolve) => setTimeout(resolve, 300))
        assert.deepEqual(paidWebhooks(order.code), ['order.paid'])
        assert.deepEqual((await market.story(order._id)).mispayments, [])
      }
    })

    test('a part of a refund, then the rest: REFUNDED, FULL_REFUNDED, and the books are right', async () => {
      const { order, reference } = await market.createAwaiting(id)
      const to = traits.refunds === 'chain' ? { address: newAddress() } : {}
      await refundProofFor(order.code, to)
      await market.act(reference, 'pay')
      await market.reaches(order.code, 'PAID')
      const part = await market.host.call('POST', `revert/${order.code}`, {
        as: market.merchant,
        body: { amount: '20.5', ...to },
      })
      assert.equal(part.status, 200, part.text)
      assert.equal((await market.order(order.code)).status, 'REFUNDING')
      await bringBack(traits, order._id)
      const after = await market.reaches(order.code, 'REFUNDED')
      assert.equal(after.refundedAmount, '20.500000')
      const rest = await market.host.call('POST', `revert/${order.code}`, { as: market.merchant, body: to })
      assert.equal(rest.status, 200, rest.text)
      await bringBack(traits, order._id)
      assert.equal((await market.reaches(order.code, 'FULL_REFUNDED')).refundedAmount, '54.000000')
      if (traits.refunds === 'provider') {
        const look = async (): Promise<DeskView | undefined> =>
          (await market.paymentsOf(order._id)).find((one) => one.reference === reference)
        const kept = await eventually(look, (one) => one?.refunds.every(({ state }) => state === 'settled') === true)
        const sent = kept?.refunds.map(({ amount }) => Number(amount)) ?? []
        assert.equal(sent.length, 2, 'two refunds there, one for each here')
        assert.ok(Math.abs(sent.reduce((sum, part) => sum + part, 0) - Number(kept?.amount)) < 1e-9, 'all of it')
      }
    })

    test('a decline at the provider is an ERROR here, and the merchant is told', async () => {
      const { order, reference } = await market.createAwaiting(id)
      await market.act(reference, 'fail')
      const statuses = ['ERROR', 'CANCELLED', 'AWAITING']
      const seen = await eventually(
        () => market.order(order.code),
        ({ status }) => status === EXPECTED_DECLINE[id],
      )
      assert.ok(statuses.includes(seen.status))
    })
  })
}

/** What the providers' mapping tables say of a payment that failed there. */
const EXPECTED_DECLINE: Partial<Record<ChannelId, string>> = {
  binance: 'ERROR',
  // a decline may be followed by a completion: the payer gave up, nothing failed
  whitepay: 'CANCELLED',
  'whitepay-non-custody': 'CANCELLED',
  cryptopay: 'CANCELLED',
  gatepay: 'ERROR',
  // the payer may try another card while there is time
  coinbase: 'AWAITING',
  kucoinpay: 'ERROR',
}

/** The payer named where refunds go; then nobody has to prove it. */
async function refundProofFor(code: string, { address }: { address?: string }): Promise<void> {
  if (address === undefined) return
  const body = { code, payerInformation: { userAddress: address } }
  const answer = await market.host.call('POST', 'payer-information', { as: market.merchant, body })
  assert.equal(answer.status, 200, answer.text)
}

test('a card or a bank gives its payer more time than an exchange, from acceptance', async () => {
  const minutesOf = async (channel: ChannelId): Promise<number> => {
    const { code } = await market.create()
    const { data } = await market.accept(code, channel)
    return (new Date(String((data as { expiresAt?: unknown }).expiresAt)).getTime() - Date.now()) / 60_000
  }
  const [card, exchange] = [await minutesOf('coinbase'), await minutesOf('binance')]
  assert.ok(card > 29 && card <= 30, `coinbase: ${card} minutes`)
  assert.ok(exchange > 4 && exchange <= 5, `binance: ${exchange} minutes`)
})

test('the channels that are paid at addresses of ours are those whose adapter says so', () => {
  for (const { id } of CHANNEL_KINDS) assert.equal(openAdapter(id).onChain === true, ON_CHAIN_CHANNELS.includes(id), id)
})

test('after all of this the books are right', async () => {
  assert.equal((await verifyLedger(market.host.db)).difference, null)
})

test('what reached Gate Pay on another network is not called late or of an earlier attempt', async () => {
  const { order, reference } = await market.createAwaiting('gatepay')
  await market.act(reference, 'pay-wrong-chain', { amount: '26' })
  const page = await eventually(
    async () => (await fetch(`${market.host.baseUrl}/pay?code=${order.code}&lang=en`)).text(),
    (text) => text.includes('do not count here'),
  )
  assert.match(page, /26\.00 USDC reached Gate Pay in another way than asked for, such as on another network, so they/)
  assert.doesNotMatch(page, /earlier attempt|too late/)
})
