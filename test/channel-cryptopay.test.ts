import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { SeenReport } from '../src/channels/channel.ts'
import { cryptopay } from '../src/channels/cryptopay/adapter.ts'
import { ProviderRefusal, ProviderTrouble } from '../src/channels/provider-errors.ts'
import { CallbackRefused } from '../src/kernel/callback.ts'
import { type ChannelDesk, openChannelDesk } from './harness/channel-desk.ts'
import { waitFor } from './harness/receiver.ts'

let desk: ChannelDesk

before(async () => {
  desk = await openChannelDesk(cryptopay)
})
after(() => desk.close())

const PRICE = { due: 13_370_001n, fiat: { asset: 'EUR', units: 1234n } } as const
const create = () => desk.create(desk.request(PRICE))

/** The newest callback of a type that names a text, as soon as it is there. */
async function callbackAbout(text: string, type: string) {
  const find = () => desk.callbacks().findLast(({ rawBody }) => rawBody.includes(text) && rawBody.includes(type))
  await waitFor(`a callback ${type}`, () => find() !== undefined, 5000)
  const found = find()
  assert.ok(found)
  return found
}
const news = async (callback: Parameters<NonNullable<typeof desk.channel.readCallback>>[0]) =>
  desk.channel.readCallback?.(callback)

test('a payment is created in fiat, waits, is paid, and its callback is verified', async () => {
  const request = desk.request(PRICE)
  const { providerReference, ...instructions } = await desk.channel.createPayment(request)
  assert.equal(instructions.checkoutUrl, `${desk.url}/payments/${providerReference}`)
  const drawn = JSON.parse(Buffer.from(instructions.qrData ?? '', 'base64').toString())
  assert.deepEqual(drawn, { type: 'payment', id: providerReference })
  const kept = (await (await fetch(`${desk.url}/payments/${providerReference}`)).json()) as Record<string, unknown>
  assert.deepEqual([kept.amount, kept.currency], ['12.34', 'EUR'])
  const payment = { providerReference, merchantReference: request.merchantReference, request }
  assert.equal((await desk.fetch(payment)).outcome, 'waiting')
  assert.equal((await news(await callbackAbout(providerReference, 'payment.created')))?.report?.outcome, 'waiting')
  await desk.act(providerReference, 'pay')
  const report = (await desk.fetch(payment)) as SeenReport
  assert.deepEqual([report.outcome, report.final], ['seen', 13_370_001n])
  const callback = await callbackAbout(providerReference, 'payment.captured')
  // an unknown scheme, a signature of the former secret, and ours
  assert.match(String(callback.headers['pay-signature']), /^t=\d+,v0=[0-9a-f]{64},v1=[0-9a-f]{64},v1=[0-9a-f]{64}$/)
  const told = await news(callback)
  assert.deepEqual([told?.providerReference, told?.merchantReference], [providerReference, request.merchantReference])
})

test('a callback with a changed byte, or six minutes later, or of the other mode, is refused', async () => {
  const { providerReference } = await create()
  await desk.act(providerReference, 'pay')
  const callback = await callbackAbout(providerReference, 'payment.captured')
  const changed = Buffer.from(callback.rawBody.toString().replace('1234', '1235'))
  await assert.rejects(async () => news({ ...callback, rawBody: changed }), CallbackRefused)
  const live = desk.open({}, true)
  await assert.rejects(async () => live.readCallback?.(callback), /test mode/)
  desk.later(360_000)
  await assert.rejects(async () => news(callback), /too old/)
})

test('a key of the other mode is refused when a payment is created, and its payments are unknown', async () => {
  const live = desk.open({}, true)
  const refused = live.createPayment(desk.request(PRICE))
  await assert.rejects(refused, (error) => error instanceof ProviderRefusal && error.reason === 'credentials')
  const { request, providerReference } = await create()
  assert.equal((await live.fetchPayment({ ...request, providerReference })).outcome, 'unknown')
})

test('a creation without an answer leaves one payment there, which names our order when it is paid', async () => {
  const request = desk.request(PRICE)
  await desk.story('timeout-after-acceptance')
  await assert.rejects(desk.channel.createPayment(request), ProviderTrouble)
  const again = await desk.create(request)
  const payments = (await (await fetch(`${desk.url}/payments`)).json()) as Record<string, string>[]
  const same = payments.filter(({ merchantReference }) => merchantReference === request.merchantReference)
  assert.equal(same.length, 2)
  const orphan = same.find(({ reference }) => reference !== again.providerReference)?.reference ?? ''
  await desk.act(orphan, 'pay')
  const told = await news(await callbackAbout(orphan, 'payment.captured'))
  assert.deepEqual([told?.providerReference, told?.merchantReference], [orphan, request.merchantReference])
  const report = await desk.channel.fetchPayment({ ...request, providerReference: orphan })
  assert.equal((report as SeenReport).final, 13_370_001n)
})

test('the window is that of the order, at most an hour', async () => {
  const payment = await desk.create(desk.request(PRICE, { expiresAt: new Date(desk.clock() + 30 * 86_400_000) }))
  desk.later(3_590_000)
  assert.equal((await desk.fetch(payment)).outcome, 'waiting')
  desk.later(20_000)
  assert.equal((await desk.fetch(payment)).outcome, 'expired')
})

test('a word that nobody knows is unknown, so is a payment of another order or none at all', async () => {
  await desk.story('unknown-status')
  const payment = await create()
  assert.deepEqual(await desk.fetch(payment), {
    outcome: 'unknown',
    providerReference: payment.providerReference,
    providerStatus: 'on_hold',
  })
  const other = { ...payment, request: { ...payment.request, merchantReference: 'f'.repeat(26) } }
  assert.match((await desk.fetch(other)).providerStatus, /another order/)
  assert.match((await desk.fetch({ ...payment, providerReference: 'none' })).providerStatus, /404/)
})

test('half of the money is returned, so none of it is pending; a decline is a decision of the payer', async () => {
  const half = await create()
  await desk.act(half.providerReference, 'pay-half')
  const report = (await desk.fetch(half)) as SeenReport
  assert.deepEqual([report.final, report.pending, report.providerStatus], [0n, 0n, 'pending, underpaid'])
  const declined = await create()
  await desk.act(declined.providerReference, 'fail')
  assert.equal((await desk.fetch(declined)).outcome, 'cancelled')
})

test('money after the end is reported in full, for the company to decide', async () => {
  const payment = await create()
  await desk.act(payment.providerReference, 'expire')
  assert.equal((await desk.fetch(payment)).outcome, 'expired')
  await desk.act(payment.providerReference, 'pay')
  assert.equal(((await desk.fetch(payment)) as SeenReport).final, 13_370_001n)
})

test('closing is switched on by a setting; closed twice or paid is no error', async () => {
  const channel = desk.open({ CANCEL: 'on' })
  const { request, providerReference } = await create()
  const payment = { ...request, providerReference }
  await channel.closePayment?.(payment)
  await channel.closePayment?.(payment)
  assert.equal((await channel.fetchPayment(payment)).outcome, 'expired')
  const paid = await create()
  await desk.act(paid.providerReference, 'pay')
  await channel.closePayment?.({ ...paid.request, providerReference: paid.providerReference })
  assert.equal((await desk.fetch(paid)).outcome, 'seen')
})

test('a forged callback is refused, the outage is trouble', async () => {
  await desk.story('forged-callback')
  const { providerReference } = await create()
  const forged = await callbackAbout(providerReference, 'payment.captured')
  await assert.rejects(async () => news(forged), CallbackRefused)
  await desk.story('outage')
  await assert.rejects(create(), ProviderTrouble)
  desk.later(6000)
  assert.ok(await create())
})

/** What a refund event of the provider says, by the refund's own id there. */
async function refundNews(reference: string, type: string) {
  const find = () => desk.callbacks().find(({ rawBody }) => rawBody.includes(reference) && rawBody.includes(type))
  await waitFor(`${type} of ${reference}`, () => find() !== undefined, 5000)
  const callback = find()
  assert.ok(callback)
  return (await news(callback))?.refund
}

test('part, rest, and not a cent more goes back; its end is told by the transfer alone', async () => {
  const payment = await create()
  const eur = (units: bigint) => ({ asset: 'EUR' as const, units })
  const part = desk.refund(payment, { fiat: eur(500n) })
  const refund = async (one: typeof part) => desk.channel.refundPayment?.(one)
  assert.equal((await refund(part))?.outcome, 'refused')
  await desk.act(payment.providerReference, 'pay')
  const sent = await refund(part)
  assert.equal(sent?.outcome, 'pending')
  const reference = sent?.reference ?? ''
  assert.deepEqual(
    [
      (await refundNews(reference, 'payment.refund_requested'))?.outcome,
      (await refundNews(reference, 'payment.refund_transferred'))?.outcome,
    ],
    ['pending', 'settled'],
  )
  const transferred = await refundNews(reference, 'payment.refund_transferred')
  assert.deepEqual([transferred?.refundId, transferred?.fiat], [part.refundId, eur(500n)])
  // asked again, with or without its answer, nothing is sent a second time
  assert.equal((await refund({ ...part, attempted: true, reference }))?.outcome, 'pending')
  assert.equal((await refund({ ...part, attempted: true }))?.outcome, 'unknown')
  const rest = desk.refund(payment, { fiat: eur(734n), earlierFiat: eur(500n) })
  assert.match((await refund({ ...rest, fiat: eur(735n) }))?.providerStatus ?? '', /amount_too_large/)
  assert.equal((await refund(rest))?.outcome, 'pending')
  assert.deepEqual(((await desk.fetch(payment)) as SeenReport).final, 13_370_001n)
})

test('a refund from the dashboard is named by its event, without an id of ours', async () => {
  await desk.story('partial-refund')
  const payment = await create()
  await desk.act(payment.providerReference, 'pay')
  const callback = await callbackAbout(payment.providerReference, 'payment.refund_transferred')
  const told = (await news(callback))?.refund
  assert.deepEqual([told?.refundId, told?.outcome, told?.fiat], [null, 'settled', { asset: 'EUR', units: 617n }])
})

test('wrong keys are a refusal about credentials', async () => {
  const stranger = desk.open({ SECRET_KEY: 'sk_test_wrong' })
  const refused = stranger.createPayment(desk.request(PRICE))
  await assert.rejects(refused, (error) => error instanceof ProviderRefusal && error.reason === 'credentials')
})

/* ---- what the imitation must refuse, as the original does ---- */

type Raw = { path?: string; fields?: Record<string, string>; authorization?: string }

/** @returns HTTP status, the parameter that is wrong, and the whole text */
async function send({ path = '/payments', fields = {}, ...raw }: Raw): Promise<[number, string | undefined, string]> {
  const { authorization = `Bearer ${desk.credentials.CHANNEL_CRYPTOPAY_SECRET_KEY}` } = raw
  const body = new URLSearchParams({ amount: '1234', currency: 'EUR', ...fields })
  const headers = authorization === '' ? {} : { authorization }
  const answer = await fetch(`${desk.url}/cryptopay${path}`, { method: 'POST', headers, body })
  const text = await answer.text()
  const error = (JSON.parse(text) as { error?: { code: string; param?: string } }).error
  assert.equal(error === undefined, answer.status === 200)
  return [answer.status, error?.param, text]
}
const short = async (raw: Raw) => (await send(raw)).slice(0, 2)

test('a missing or unknown key is 401 with an error object; bearer and basic are both taken', async () => {
  const key = desk.credentials.CHANNEL_CRYPTOPAY_SECRET_KEY
  const basic = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`
  for (const authorization of ['', 'Bearer nobody', basic('nobody:'), basic(`${key}:password`), `Token ${key}`])
    assert.equal((await send({ authorization }))[0], 401, authorization)
  assert.equal((await send({ authorization: basic(`${key}:`) }))[0], 200)
  assert.equal((await send({ path: '/payments/' }))[0], 200)
})

test('a decimal point in the amount and an unknown currency are refused', async () => {
  for (const amount of ['12.34', '0', '-1', '', '1e3'])
    assert.deepEqual(await short({ fields: { amount } }), [400, 'amount'], amount)
  for (const currency of ['XPF', 'eur', 'DOGE'])
    assert.deepEqual(await short({ fields: { currency } }), [400, 'currency'])
  assert.deepEqual(await short({ fields: { expired_at: '1' } }), [400, 'expired_at'])
})

test('a refund of a pending payment, above what is left, or in another currency is refused', async () => {
  const { providerReference } = await create()
  const refund = (fields: Record<string, string>) =>
    short({ path: '/refunds', fields: { payment_id: providerReference, ...fields } })
  assert.deepEqual(await refund({}), [400, 'payment_id'])
  await desk.act(providerReference, 'pay')
  assert.deepEqual(await refund({ currency: 'USD' }), [400, 'currency'])
  assert.deepEqual(await refund({ amount: '1235' }), [400, 'amount'])
  assert.deepEqual(await refund({ amount: '1000' }), [200, undefined])
  assert.deepEqual(await refund({ amount: '235' }), [400, 'amount'])
  assert.deepEqual(await refund({ amount: '234' }), [200, undefined])
})

test('large integers are sent bare, with every digit', async () => {
  const [status, , text] = await send({ fields: { amount: '100000000000000000001', currency: 'CRO' } })
  assert.equal(status, 200)
  assert.match(text, /"amount":100000000000000000001,/)
})
