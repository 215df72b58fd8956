import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from '../src/db/db.ts'
import { TEXTS } from '../src/texts/languages.ts'
import { readMails } from './harness/accounts.ts'
import { type KycWorld, newPayer, openKycWorld, readPage } from './harness/kyc-world.ts'
import { eventually } from './harness/service.ts'

/* Anyone may type any e-mail on a pay page: who is let into the check that already belongs to it. */
let world: KycWorld
before(async () => {
  world = await openKycWorld({ env: { LIMIT_LINK_PER_MINUTE: '1000' } })
})
after(() => world?.stop())

const { mailedTitle, states } = TEXTS.en.kyc

/** A browser: keeps cookies, and types an e-mail on the pay page of an order. */
function openBrowser() {
  const base = world.host.config.payUrl
  const cookies = new Map<string, string>()
  const call = async (url: string, form?: Record<string, string>) => {
    const cookie = [...cookies].map((pair) => pair.join('=')).join('; ')
    const headers = { cookie, 'accept-language': 'en', ...(form && { origin: new URL(base).origin }) }
    const sent = form ? { method: 'POST', body: new URLSearchParams(form) } : {}
    const answer = await fetch(new URL(url, base), { ...sent, headers, redirect: 'manual' })
    for (const one of answer.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(one) ?? []
      cookies.set(name, value)
    }
    return { status: answer.status, text: await answer.text(), to: answer.headers.get('location') ?? '' }
  }
  return {
    /** @returns where the pay page leads */
    async pay(code: string, email: string): Promise<string> {
      const { text } = await call(`/pay?code=${code}`)
      const token = /name="token" value="([^"]+)"/.exec(text)?.[1] ?? ''
      await call('/pay', { code, token, email })
      return (await call('/pay/accept', { code, token, paymentChannel: 'crypto', network: '31337' })).to
    },
    read: async (url: string): Promise<string> => (await call(url)).text,
    /** As the page's script does it. */
    async open(url: string): Promise<number> {
      const { searchParams } = new URL(url, base)
      return (await call('/kyc/session', Object.fromEntries(searchParams))).status
    },
  }
}

const linkIn = (text: string): string => /https?:\/\/\S+\/kyc\?code=\S+/.exec(text)?.[0] ?? ''
/** The newest mailed link for this order. */
async function mailedLink(email: string, code: string): Promise<string> {
  const mails = await eventually(
    async () => (await readMails(world.host.baseUrl, email)).filter(({ text }) => linkIn(text).includes(code)),
    (list) => list.length > 0,
  )
  return linkIn(mails[0]?.text ?? '')
}

for (const answer of ['retry', 'refuse'] as const)
  test(`a stranger who types a payer’s e-mail learns nothing of a check (${answer}), its payer gets a mail`, async () => {
    const email = newPayer()
    const { id, url } = await world.ask(await world.createOrder('1500'), email)
    await world.decide(id, answer)
    await eventually(
      async () => (await world.read(id)).message as string | null,
      (message) => /RED/.test(message ?? ''),
    )
    assert.doesNotMatch(await openBrowser().read(url), new RegExp(mailedTitle))
    const [stranger, code] = [openBrowser(), await world.createOrder('1500')]
    const led = await stranger.pay(code, email)
    const page = await stranger.read(led)
    assert.match(page, new RegExp(mailedTitle))
    assert.ok(![TEXTS.en.kyc.again, states.refused, states.pending].some((words) => page.includes(words)))
    assert.equal(await stranger.open(led), 404)
    assert.equal((await fetch(new URL(led, world.host.config.payUrl))).headers.get('set-cookie'), null)
    const mailed = await mailedLink(email, code)
    const payer = openBrowser()
    assert.match(await payer.read(mailed), new RegExp(answer === 'refuse' ? states.refused : states.pending))
    assert.equal(await payer.open(mailed), answer === 'refuse' ? 409 : 200)
    // no link to the shop's server tells more than before
    assert.equal(await openBrowser().open(url), answer === 'refuse' ? 409 : 200)
  })

test('the payer who started a check goes on from the same order, and in the same browser from another one', async () => {
  const [email, code] = [newPayer(), await world.createOrder('1500')]
  const own = openBrowser()
  const led = await own.pay(code, email)
  assert.match(await own.read(led), new RegExp(states.pending))
  assert.equal(await own.open(led), 200)
  const elsewhere = openBrowser()
  assert.equal(await elsewhere.open(await elsewhere.pay(code, email)), 200)
  const second = await own.pay(await world.createOrder('1600'), email)
  assert.match(await own.read(second), new RegExp(states.pending))
  assert.equal(await own.open(second), 200)
  const other = openBrowser()
  assert.equal(await other.open(await other.pay(await world.createOrder('1700'), email)), 404)
})

test('a stranger who types an e-mail first is shut out once its payer comes through the mail', async () => {
  const [email, code] = [newPayer(), await world.createOrder('1500')]
  const stranger = openBrowser()
  const led = await stranger.pay(code, email)
  assert.match(await stranger.read(led), new RegExp(states.pending))
  assert.equal(await stranger.open(led), 200)
  const mailed = await mailedLink(email, code)
  // a scanner of mails reads the page, and shuts nobody out
  await openBrowser().read(mailed)
  assert.equal(await stranger.open(led), 200)
  const payer = openBrowser()
  await payer.read(mailed)
  assert.equal(await payer.open(mailed), 200)
  assert.equal(await stranger.open(led), 404)
  assert.match(await stranger.read(led), new RegExp(mailedTitle))
  assert.equal(await payer.open(await payer.pay(await world.createOrder('1600'), email)), 200)
})

test('a check of an earlier version is open to the first order that waited; a mail can be asked for again', async () => {
  const [email, code] = [newPayer(), await world.createOrder('1500')]
  const own = openBrowser()
  const led = await own.pay(code, email)
  await world.host.db.run(sql`update kyc_records set first_order_id = null`)
  assert.equal(await openBrowser().open(led), 200)
  const [other, later] = [openBrowser(), await world.createOrder('1600')]
  for (const count of [1, 2]) {
    assert.equal(await other.open(await other.pay(later, email)), 404)
    await eventually(
      async () => (await readMails(world.host.baseUrl, email)).filter(({ text }) => linkIn(text).includes(later)),
      (list) => list.length === count,
    )
  }
})

test('a shop’s frame shows the way to a check to whoever has its link, until the check no longer stands before the payment', async () => {
  const code = await world.createOrder('1500')
  const { id, url } = await world.ask(code, newPayer())
  const token = new URL(url).searchParams.get('token') ?? ''
  const look = (order: string, word: string) =>
    readPage(`${world.host.config.payUrl}/pay?code=${order}&embed=1&token=${word}`)
  const isShown = async (order = code, word = token) => {
    const { status, headers, text } = await look(order, word)
    if (status === 200) return text.includes(`/kyc?code=${order}&amp;token=${word}`)
    assert.deepEqual([status, headers.get('location')], [303, `/pay?code=${order}&embed=1`])
    return false
  }
  const ofAnother = await world.ask(await world.createOrder('1500'), newPayer())
  const foreign = new URL(ofAnother.url).searchParams.get('token') ?? ''
  assert.deepEqual(
    [await isShown(), await isShown(code, foreign), await isShown(await world.createOrder('1500'))],
    [true, false, false],
  )
  const put = (status: string) => world.host.db.run(sql`update kyc_records set status = ${status} where id = ${id}`)
  await put('refused')
  assert.equal(await isShown(), true, 'its page says so')
  await put('approved')
  assert.equal(await isShown(), false)
  await put('pending')
  await world.boss.client.post(`confirm_conversion/cancel/${code}`)
  assert.equal(await isShown(), false, 'nobody can pay it')
})
