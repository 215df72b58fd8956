import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { after, before, test } from 'node:test'
import { type ImitationWorld, startImitations } from './harness/imitation.ts'

/* The imitation of Crypto.com Pay against its documentation; no adapter of ours takes part. */
let world: ImitationWorld
before(async () => {
  world = await startImitations()
})
after(() => world?.stop())

type Payment = {
  id: string
  status: string
  expired: boolean
  amount_refunded: number
  refunded: boolean
  amount: number
  current_inbound_fund: { amount: string; status: string; confirmed: boolean; mismatched_reason: string | null } | null
}
type Refund = { id: string; payment_id: string; amount: number; status: string; description: string; reason: string }

async function send(path: string, fields?: Record<string, string>): Promise<Response> {
  return fetch(world.credential('CHANNEL_CRYPTOPAY_BASE_URL') + path, {
    method: fields ? 'POST' : 'GET',
    headers: { authorization: `Bearer ${world.credential('CHANNEL_CRYPTOPAY_SECRET_KEY')}` },
    ...(fields ? { body: new URLSearchParams(fields) } : {}),
  })
}
async function call<Answer>(path: string, fields?: Record<string, string>): Promise<Answer> {
  const answer = await send(path, fields)
  const text = await answer.text()
  assert.equal(answer.status, 200, text)
  return JSON.parse(text) as Answer
}
async function createPaid(): Promise<string> {
  const { id } = await call<Payment>('/payments', { amount: '5000', currency: 'EUR', order_id: 'ord1' })
  await world.act(id, 'pay')
  return id
}
const create = async () => (await call<Payment>('/payments', { amount: '5000', currency: 'EUR' })).id
const read = (id: string): Promise<Payment> => call<Payment>(`/payments/${id}`)
/** The payment's status, whether its time is over, and its inbound fund. */
async function shown(id: string): Promise<unknown[]> {
  const { status, expired, current_inbound_fund: fund } = await read(id)
  return [status, expired, fund?.status, fund?.confirmed, fund?.mismatched_reason]
}
const refund = (id: string, amount: string, description = 'r1'): Promise<Refund> =>
  call<Refund>('/refunds', { payment_id: id, amount, currency: 'EUR', reason: 'returned', description })
const isRefund = (type: string) => (one: { body: string }) => one.body.includes(`"type":"payment.${type}"`)

test('a refund is requested first and transferred later; both events name it and its description', async () => {
  const id = await createPaid()
  await world.story('refund-pending', { provider: 'cryptopay' })
  const made = await refund(id, '2000', 'our-refund-7')
  assert.deepEqual(
    [made.payment_id, made.status, made.description, made.reason],
    [id, 'pending', 'our-refund-7', 'returned'],
  )
  const requested = (await world.callbacks('cryptopay', made.id, 1)).find(isRefund('refund_requested'))
  assert.deepEqual(JSON.parse(requested?.body ?? '').data.object, made)
  await new Promise((resolve) => setTimeout(resolve, 500))
  assert.equal((await world.callbacks('cryptopay', made.id, 1)).length, 1, 'nothing is transferred by itself')
  await world.act(id, 'refund-settle')
  const transferred = (await world.callbacks('cryptopay', made.id, 2)).find(isRefund('refund_transferred'))
  const object = JSON.parse(transferred?.body ?? '').data.object as Refund
  assert.deepEqual([object.status, object.description], ['succeeded', 'our-refund-7'])
})

test('amount_refunded grows at the request, or at the transfer: either may be, so neither proves a refund', async () => {
  for (const [amountRefundedAt, while_] of [
    ['request', 2000],
    ['transfer', 0],
  ] as const) {
    await world.post('/cryptopay/console', { amountRefundedAt })
    const id = await createPaid()
    await world.story('refund-pending', { provider: 'cryptopay' })
    await refund(id, '2000')
    assert.equal((await read(id)).amount_refunded, while_)
    await world.act(id, 'refund-settle')
    assert.equal((await read(id)).amount_refunded, 2000)
  }
  await world.post('/cryptopay/console', { amountRefundedAt: 'request' })
})

test('two refunds may run at once, and the same one sent twice is refunded twice: there is no idempotency key', async () => {
  const id = await createPaid()
  await world.story('refund-pending', { provider: 'cryptopay' })
  const first = await refund(id, '2000', 'same')
  const second = await refund(id, '2000', 'same')
  assert.notEqual(first.id, second.id)
  const third = await send('/refunds', { payment_id: id, amount: '1001', currency: 'EUR' })
  assert.deepEqual(
    [third.status, ((await third.json()) as { error: { code: string } }).error.code],
    [400, 'amount_too_large'],
  )
})

test('a refund whose answer is lost was taken: its description is in the events', async () => {
  const id = await createPaid()
  await world.story('refund-timeout-after-acceptance', { provider: 'cryptopay' })
  await assert.rejects(refund(id, '1500', 'lost-answer'))
  const events = await world.callbacks('cryptopay', 'lost-answer', 2)
  assert.equal(events.filter(isRefund('refund_transferred')).length, 1)
  assert.equal((await read(id)).amount_refunded, 1500)
})

test('a refused refund gives nothing back and has no event of its own', async () => {
  const id = await createPaid()
  await refund(id, '1013')
  await new Promise((resolve) => setTimeout(resolve, 600))
  assert.deepEqual([(await read(id)).amount_refunded, (await read(id)).refunded], [0, false])
})

test('XPF is not a pricing currency', async () => {
  const answer = await send('/payments', { amount: '6000', currency: 'XPF' })
  assert.deepEqual(
    [answer.status, ((await answer.json()) as { error: { param: string } }).error.param],
    [400, 'currency'],
  )
})

test('money that the chain has not confirmed shows as an inbound fund of a pending payment', async () => {
  const { id } = await call<Payment>('/payments', { amount: '5000', currency: 'EUR' })
  assert.equal((await read(id)).current_inbound_fund, null)
  await world.act(id, 'pay-unconfirmed')
  assert.deepEqual(await shown(id), ['pending', false, 'pending', false, null])
  await world.act(id, 'confirm')
  assert.deepEqual(await shown(id), ['succeeded', false, 'captured', true, null])
})

test('when the time ends, a payment is expired beside its fund, which is captured later or stays too little', async () => {
  const inTime = await create()
  await world.act(inTime, 'pay-unconfirmed')
  await world.act(inTime, 'expire')
  assert.deepEqual(await shown(inTime), ['pending', true, 'pending', false, null])
  await world.act(inTime, 'confirm')
  assert.deepEqual(await shown(inTime), ['succeeded', false, 'captured', true, null])
  const [part, unpaid] = [await create(), await create()]
  await world.act(part, 'pay-half')
  for (const id of [part, unpaid]) await world.act(id, 'expire')
  assert.deepEqual(await shown(part), ['cancelled', true, 'pending', false, 'underpaid'])
  assert.deepEqual(await shown(unpaid), ['cancelled', true, undefined, undefined, undefined])
})

/* help.crypto.com, "unresolved payments" (4383072) and "underpayment" (4383038) */

const isCapture = ({ body }: { body: string }) => body.includes('"type":"payment.captured"')
const coinsOf = async (id: string) => (await read(id)).current_inbound_fund?.amount

test('what is too little goes back: the rest alone does not complete a payment, the whole price does', async () => {
  const id = await create()
  const underpaid = ['pending', false, 'pending', false, 'underpaid']
  await world.act(id, 'pay-half')
  assert.deepEqual([await shown(id), await coinsOf(id)], [underpaid, '250.000000000000000000'])
  await world.act(id, 'pay-half')
  assert.deepEqual([await shown(id), await coinsOf(id)], [underpaid, '250.000000000000000000'], 'not the sum of both')
  await world.act(id, 'pay', { amount: '49.99' })
  assert.deepEqual(await shown(id), underpaid)
  assert.deepEqual((await world.callbacks('cryptopay', id, 1)).filter(isCapture), [])
  await world.act(id, 'pay')
  assert.deepEqual(
    [await shown(id), await coinsOf(id)],
    [['succeeded', false, 'captured', true, null], '500.000000000000000000'],
  )
  assert.equal((await world.callbacks('cryptopay', id, 2)).filter(isCapture).length, 1)
})

test('what is too much goes back too: the payment is of its price', async () => {
  const id = await create()
  await world.act(id, 'pay', { amount: '60' })
  assert.deepEqual(await shown(id), ['succeeded', false, 'captured', true, null])
  assert.deepEqual([(await read(id)).amount, await coinsOf(id)], [5000, '500.000000000000000000'])
  const tooMuch = await send('/refunds', { payment_id: id, amount: '5001', currency: 'EUR' })
  assert.equal(((await tooMuch.json()) as { error: { code: string } }).error.code, 'amount_too_large')
})

test('money after the end is captured, or goes back as the document says: a switch', async () => {
  const payLate = async () => {
    const id = await create()
    await world.act(id, 'expire')
    await world.act(id, 'pay')
    return id
  }
  assert.deepEqual(await shown(await payLate()), ['succeeded', false, 'captured', true, null])
  await world.post('/cryptopay/console', { returnsLate: true })
  const id = await payLate()
  await world.post('/cryptopay/console', { returnsLate: false })
  assert.deepEqual(await shown(id), ['cancelled', true, 'pending', false, 'late'])
  const refused = await send('/refunds', { payment_id: id, amount: '5000', currency: 'EUR' })
  assert.equal(((await refused.json()) as { error: { code: string } }).error.code, 'payment_not_captured')
  await new Promise((resolve) => setTimeout(resolve, 100))
  assert.deepEqual((await world.callbacks('cryptopay', id, 1)).filter(isCapture), [])
})

test('the signature covers time and raw body; an unknown scheme stands first, a former secret beside ours', async () => {
  const id = await createPaid()
  const captured = (await world.callbacks('cryptopay', id, 2)).find(({ body }) => body.includes('payment.captured'))
  const parts = (captured?.headers['pay-signature'] ?? '').split(',')
  assert.deepEqual(
    parts.map((part) => part.split('=')[0]),
    ['t', 'v0', 'v1', 'v1'],
  )
  const message = `${parts[0]?.slice(2)}.${captured?.body}`
  const secret = world.credential('CHANNEL_CRYPTOPAY_WEBHOOK_SECRET')
  assert.equal(parts[3], `v1=${createHmac('sha256', secret).update(message).digest('hex')}`)
})
