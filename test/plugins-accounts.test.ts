import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { hasPhp, openPhpShop, type PhpShop } from './harness/php-shop.ts'
import { waitFor } from './harness/receiver.ts'

/* A WooCommerce shop that goes on with another account of the same Comptoir, and what the one before still holds. */

let php: PhpShop
/** The settings of the shop's new account. */
let options: Record<string, string | undefined>

before(async () => {
  if (!hasPhp) return
  php = await openPhpShop('woocommerce', 'comptoir', ({ host, merchant }) => {
    const { 'x-api-key': api_key, 'x-api-secret': api_secret } = merchant.headers
    return {
      OPTIONS: { base_url: host.baseUrl, api_key, api_secret, till: 'TILL-1', webhook_secret: merchant.webhookSecret },
    }
  })
  const { headers, merchantIdentifier: till, webhookSecret: webhook_secret } = await php.shop.host.createMerchant()
  options = { api_key: headers['x-api-key'], api_secret: headers['x-api-secret'], till, webhook_secret }
})
after(() => php?.stop())

type Known<Data> = {
  answer: Data
  status: string
  completed: number
  notes: string[]
  mails: string[]
  notices: string[]
}

const tell = <Data>(command: Record<string, unknown>): Promise<Known<Data>> => php.tell<Known<Data>>(command)
const withPhp = hasPhp ? test : () => {}

type Clicked = Known<{ result: string; redirect?: string }> & { code: string }

async function pay(order: number, more: Record<string, unknown> = {}): Promise<Clicked> {
  const known = await tell<Clicked['answer']>({ do: 'pay', order, ...more })
  return { ...known, code: new URL(known.answer.redirect ?? 'x:y').searchParams.get('code') ?? '' }
}

const statusOf = async (code: string): Promise<string> =>
  (await php.shop.host.call<{ status: string }>('GET', `status/${code}`)).data.status
const elsewhere = (code: string): string =>
  `The payment ${code} of this order was opened in another account of Comptoir, or where this shop was before. It can ` +
  'be neither read nor cancelled from here: look there whether money came for it, and cancel it if it is open.'

withPhp('after a change of account a customer pays the new one, and a person hears of the payment before', async () => {
  const { code: before } = await pay(701)
  const { code } = await pay(701, { options })
  assert.notEqual(code, before)
  assert.match(code, /\w/)
  const seen = await tell({ do: 'catchUp', order: 701, options })
  assert.deepEqual([seen.status, seen.notes], ['pending', [elsewhere(before)]])
  assert.equal((await tell({ do: 'catchUp', order: 701, options })).notes.length, 1, 'once')
})

withPhp('an order that was paid in the account before is not paid a second time, and a person decides', async () => {
  const { code: before } = await pay(702)
  await php.payUntilPaid(before)
  const again = await pay(702, { options })
  assert.deepEqual([again.answer, again.status, again.completed], [{ result: 'failure' }, 'on-hold', 0])
  assert.match(again.notices.join(), /Money came for an earlier payment of this order\. Please ask the shop\.$/)
  assert.match(again.notes.join(), new RegExp(`^Money came for the payment ${before} .* in another account`))
  assert.deepEqual(again.mails, ['shop@shop.example: Order 702: please check its payment'])
  const reset = await pay(702, { options, set: { status: 'pending' } })
  assert.deepEqual([reset.answer, reset.status, reset.mails], [{ result: 'failure' }, 'pending', []], 'a person did so')
})

withPhp('late money in the account before does not stop a new payment, but is to be looked for', async () => {
  const { code: before } = await pay(703)
  const payLate = await php.choose(before)
  await php.shop.host.call('POST', `cancel/${before}`, { as: php.shop.merchant })
  await payLate()
  await waitFor('the late money', async () => {
    const path = `/api/next/mispayments?code=${before}&status=open`
    return (await php.shop.host.call<{ total: number }>('GET', path, { as: php.shop.merchant })).data.total > 0
  })
  const { code } = await pay(703, { options })
  assert.equal(await statusOf(code), 'INITIAL')
  assert.deepEqual((await tell({ do: 'catchUp', order: 703, options })).notes, [elsewhere(before)])
})

withPhp('a cancelled order names the payment that its shop can no longer close', async () => {
  const { code: before } = await pay(704)
  const { code } = await pay(704, { options })
  const cancelled = await tell({ do: 'cancel', order: 704, options })
  assert.deepEqual([await statusOf(before), await statusOf(code)], ['INITIAL', 'CANCELLED'])
  assert.deepEqual(cancelled.notes, [elsewhere(before)])
})

withPhp('WooCommerce does not cancel an order by itself whose payment is in the account before', async () => {
  const { code: before } = await pay(705)
  const out = await tell<boolean>({ do: 'timeOut', order: 705, options })
  assert.deepEqual([out.answer, out.status], [false, 'pending'])
  assert.match(out.notes.join(), new RegExp(`^Comptoir does not know the payment ${before}, so this order is not`))
})

withPhp('news of the account before changes no order any more', async () => {
  const { code: before } = await pay(706)
  await php.payUntilPaid(before)
  const seen = await tell({ do: 'catchUp', order: 706, options })
  assert.deepEqual([seen.status, seen.completed], ['pending', 0])
})

withPhp('while the key is wrong, news is refused and no order is taken for one of another account', async () => {
  const wrong = { options: { api_secret: 'sk_revoked' } }
  const { code: paid } = await pay(707)
  await pay(708)
  await php.payUntilPaid(paid)
  const news = await php.hookOf('order.paid', paid)
  const refused = await tell<string>({ do: 'webhook', order: 707, ...news, ...wrong })
  assert.deepEqual([refused.answer, refused.status, refused.notes], ['UNAUTHORIZED', 'pending', []])
  const again = await pay(707, wrong)
  assert.deepEqual([again.answer, again.status, again.notes, again.mails], [{ result: 'failure' }, 'pending', [], []])
  assert.doesNotMatch(again.notices.join(), /Money came for an earlier payment/)
  const open = await tell<boolean>({ do: 'timeOut', order: 708, ...wrong })
  assert.deepEqual([open.answer, open.status, open.notes], [false, 'pending', []])
  const stray = await tell<string>({ do: 'webhook', order: 709, ...news, set: { meta: [] }, ...wrong })
  assert.equal(stray.answer, 'UNAUTHORIZED')
  const done = await tell<string>({ do: 'webhook', order: 707, ...news })
  assert.deepEqual([done.answer, done.status, done.completed], ['paid', 'processing', 1])
})

withPhp('a key that is revoked stands on every page of the back office until one works again', async () => {
  await pay(710)
  const wrong = { options: { api_secret: 'sk_revoked' } }
  const notice = async () => (await tell<string>({ do: 'notice', order: 710 })).answer
  assert.equal(await notice(), '')
  await pay(711, wrong)
  assert.match(await notice(), /does not accept the API key of this shop any more/)
  await pay(711)
  assert.equal(await notice(), '')
  for (let rounds = 0; rounds < 2; rounds += 1) {
    await tell({ do: 'catchUp', order: 710, ...wrong })
    assert.match(await notice(), /does not accept the API key of this shop any more/)
  }
  await tell({ do: 'catchUp', order: 710 })
  assert.equal(await notice(), '')
})
