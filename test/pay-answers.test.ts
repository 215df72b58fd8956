import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { refund } from './harness/pay-states.ts'
import { type PayWorld, startPayWorld } from './harness/pay-world.ts'
import { eventually } from './harness/service.ts'

/* What a payer who has paid finds again on each page about the order. */

let world: PayWorld
before(async () => {
  world = await startPayWorld()
})
after(() => world?.stop())

const readAt = async (url: string): Promise<string> => {
  const [, main = ''] = /<main[^>]*>(.*)<\/main>/s.exec(await (await fetch(url)).text()) ?? []
  return main.replace(/\s+/g, ' ')
}
const read = (code: string, more = ''): Promise<string> => readAt(`${world.pageUrl(code)}${more}`)

async function createPaid(units = 58_320_000n): Promise<string> {
  const { code, toAddress } = await world.createAccepted({ goods: { goodsName: 'Two tickets' } })
  await world.chain.pay({ to: toAddress, units })
  await world.chain.mine(4)
  await world.reaches(code, 'PAID')
  return code
}

test('while a part of a paid order goes back, the page says both, and still leads to the receipt', async () => {
  for (const units of [58_320_000n, 60_320_000n]) {
    const code = await createPaid(units)
    await world.moveElsewhere(code, 'revert')
    await refund(world, code, { status: 'submitted', units: 5_000_000n })
    const text = await read(code)
    assert.match(text, /Your refund is on its way.*is sending you 5\.00 USDC/)
    assert.match(text, /<h3>Paid.*has received your payment/)
    assert.match(text, /href="[^"]*\/receipt\/[\w-]+"/)
    assert.equal(/You sent 2\.00 USDC too much.*To get it back, contact/.test(text), units === 60_320_000n)
  }
})

test('a refund of an order that was never paid says nothing of a payment', async () => {
  const { code } = await world.createAccepted()
  await world.moveElsewhere(code, 'expire')
  await refund(world, code, { status: 'submitted', units: 5_000_000n })
  const text = await read(code)
  assert.match(text, /Your refund is on its way/)
  assert.doesNotMatch(text, /<h3>Paid|\/receipt\//)
})

test('money of an order that was cancelled came in time: the page says what became of the order, not of the time', async () => {
  const { code, toAddress } = await world.createAccepted()
  await world.moveElsewhere(code, 'cancel')
  await world.chain.pay({ to: toAddress, units: 58_320_000n })
  const text = await eventually(
    () => read(code),
    (page) => page.includes('Money has arrived'),
  )
  assert.match(text, /We received 58\.32 USDC for this order, which was cancelled\. It is not lost/)
  assert.doesNotMatch(text, /in time/)
})

test('the page behind the mail about a refund names the order, what it was for, its price and the shop', async () => {
  const code = await createPaid()
  await world.moveElsewhere(code, 'revert')
  await refund(world, code, { status: 'needs_address' })
  const page = await read(code)
  const [, link = ''] = /href="([^"]*\/refund\?[^"]+)"/.exec(page) ?? []
  const text = await readAt(link.replaceAll('&amp;', '&'))
  const { shortCode } = (await world.host.call<{ shortCode: string }>('GET', `status/${code}`)).data
  for (const words of ['Refund from Test &amp; Söhne', shortCode, 'Two tickets', '€54.00', '58.32 USDC'])
    assert.ok(text.includes(words), `${words} is on the page`)
})

test('on the French page the word for what was received is not the word for the receipt', async () => {
  const text = await read(await createPaid(), '&lang=fr')
  assert.equal(text.match(/>Reçu</g)?.length, 1)
  assert.match(text, />Voir le reçu</)
})
