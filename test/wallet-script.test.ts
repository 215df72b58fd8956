import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { runInNewContext } from 'node:vm'

/* The script for wallets in the payer's browser, where the browser keeps nothing, and over minutes. */

const SOURCE = readFileSync(new URL('../web/pay/wallet.js', import.meta.url), 'utf8').replace(
  "'__WORDS__'",
  'new Proxy({}, { get: (_, key) => String(key) })',
)
const PAY = { code: 'C', to: `0x${'1'.repeat(40)}`, token: `0x${'2'.repeat(40)}`, units: '1000000', chain: 1 }

type Receipt = { status: string; blockNumber?: string; logs?: { address: string; topics: string[]; data: string }[] }

type Read = { block: number; ageMs: number } | { removed: true }

type Made = { textContent?: string; className?: string; children: Made[]; click?: () => void }

function makeElement() {
  const made: Made & Record<string, unknown> = {
    children: [],
    dataset: {},
    append: (...children: Made[]) => made.children.push(...children),
    replaceChildren: (...children: Made[]) => {
      made.children = children
    },
    addEventListener: (_: string, run: () => void) => {
      made.click = run
    },
    setAttribute: () => {},
    querySelector: () => null,
  }
  return made
}

/** A page with one wallet, on a clock of its own. */
function openPage({
  blocked,
  receipt,
  more = {},
  kept = new Map(),
  startMs = 0,
  asked = PAY,
  read = () => ({ block: 1e9, ageMs: 0 }),
}: {
  blocked: boolean
  receipt: () => Receipt | null
  /** Other answers of the wallet. */
  more?: Record<string, () => unknown>
  /** What the browser keeps. */
  kept?: Map<string, string>
  /** When the page opens. */
  startMs?: number
  /** What the page asks for when it opens. */
  asked?: object
  /** How far the service has read the chain; null: it does not answer. */
  read?: () => Read | null
}) {
  const wallet = makeElement()
  const live = Object.assign(makeElement(), { dataset: { wallet: '/pay/wallet.js?lang=en' } })
  const ask = (pay: object) => Object.assign(wallet, { dataset: { pay: JSON.stringify(pay) } })
  ask(asked)
  const use = <T>(run: () => T): T => {
    if (blocked) throw new Error('SecurityError')
    return run()
  }
  const localStorage = {
    getItem: (key: string) => use(() => kept.get(key) ?? null),
    setItem: (key: string, text: string) => use(() => void kept.set(key, text)),
    removeItem: (key: string) => use(() => void kept.delete(key)),
  }
  const clock = {
    nowMs: 1_800_000_000_000 + startMs,
    timers: new Map<number, { at: number; run: () => void }>(),
    made: 0,
  }
  const setTimeout = (run: () => void, ms = 0) => {
    clock.made += 1
    clock.timers.set(clock.made, { at: clock.nowMs + ms, run })
    return clock.made
  }
  const settle = () => new Promise((resolve) => setImmediate(resolve))
  const pass = async (ms: number) => {
    const end = clock.nowMs + ms
    for (;;) {
      await settle()
      const [next] = [...clock.timers].toSorted(([, one], [, other]) => one.at - other.at)
      if (!next || next[1].at > end) break
      clock.timers.delete(next[0])
      clock.nowMs = Math.max(clock.nowMs, next[1].at)
      next[1].run()
    }
    clock.nowMs = end
  }
  const answers: Record<string, () => unknown> = {
    eth_requestAccounts: () => [`0x${'3'.repeat(40)}`],
    eth_chainId: () => '0x1',
    eth_call: () => '0xffffffffff',
    eth_getBalance: () => '0x5',
    eth_sendTransaction: () => '0xhash',
    eth_getTransactionReceipt: receipt,
    ...more,
  }
  const handlers: Record<string, (event: unknown) => void> = {}
  runInNewContext(SOURCE, {
    ...{ localStorage, setTimeout, Event, URL, URLSearchParams, AbortSignal },
    location: { href: 'https://pay.test/pay?code=C', host: 'pay.test' },
    fetch: async (url: URL) => {
      assert.equal(url.href, 'https://pay.test/pay/read?network=1')
      const answer = read()
      return { ok: answer !== null, json: async () => answer }
    },
    clearTimeout: (id: number) => clock.timers.delete(id),
    Date: class extends Date {
      static override now = () => clock.nowMs
    },
    document: {
      getElementById: (id: string) => (id === 'live' ? live : wallet),
      createElement: makeElement,
      activeElement: null,
      documentElement: { lang: 'en' },
    },
    addEventListener: (name: string, run: (event: unknown) => void) => {
      handlers[name] = run
    },
    dispatchEvent: () => {},
    window: {},
    MutationObserver: class {
      observe() {}
    },
  })
  const provider = { request: async ({ method }: { method: string }) => answers[method]?.() }
  handlers['eip6963:announceProvider']?.({ detail: { info: { uuid: 'u', name: 'W', icon: '' }, provider } })
  const words = () => wallet.children.map(({ textContent, children }) => textContent ?? children[0]?.textContent ?? '')
  const hidden = () => wallet.className === 'sent'
  const pay = async () => {
    wallet.children.find(({ click }) => click)?.click?.()
    await settle()
  }
  return { ask, pass, pay, words, hidden }
}

for (const blocked of [false, true])
  test(`a transfer is followed until it is in a block or reverted, ${blocked ? 'also where the browser keeps nothing' : 'and kept'}`, async () => {
    let receipt: { status: string } | null = null
    const page = openPage({ blocked, receipt: () => receipt })
    await page.pay()
    await page.pass(5000)
    assert.deepEqual([page.hidden(), page.words()[0]], [true, 'Sending'], 'it is not offered again')
    receipt = { status: '0x0' }
    await page.pass(5000)
    assert.deepEqual([page.hidden(), page.words().includes('Reverted')], [false, true])
    receipt = { status: '0x1' }
    await page.pay()
    await page.pass(5000)
    assert.deepEqual([page.hidden(), page.words()[0]], [true, 'Sent'])
  })

const word = (value: string) => value.replace(/^0x/, '').padStart(64, '0')
const transfer = ({ token = PAY.token, to = PAY.to, units = 1_000_000 } = {}) => ({
  address: token,
  topics: [
    '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef',
    `0x${word(`0x${'3'.repeat(40)}`)}`,
    `0x${word(to)}`,
  ],
  data: `0x${word(units.toString(16))}`,
})
const fee = transfer({ to: `0x${'4'.repeat(40)}`, units: 2000 })

test('a smart account whose transaction is in a block without the transfer: the payer is told, and asked before it is paid again', async () => {
  for (const other of [{ token: `0x${'5'.repeat(40)}` }, { to: `0x${'6'.repeat(40)}` }, { units: 999_999 }]) {
    const kept = new Map<string, string>()
    const receipt = () => ({ status: '0x1', logs: [fee, transfer(other)] })
    const page = openPage({ blocked: false, receipt, kept })
    await page.pay()
    await page.pass(5000)
    const told = [page.hidden(), page.words()[0]]
    assert.deepEqual(told, [true, 'Uncounted'], JSON.stringify(other))
    await page.pass(180_000)
    const said = ['retry', 'Uncounted']
    assert.deepEqual([page.hidden(), page.words().slice(0, 2)], [true, said], 'three minutes later')
    const again = openPage({ blocked: false, receipt, kept, startMs: 190_000 })
    assert.equal(again.words()[0], 'Uncounted')
    await again.pass(10)
    assert.deepEqual([again.hidden(), again.words().slice(0, 2)], [true, said], 'in every tab')
    await again.pay()
    assert.deepEqual([again.hidden(), again.words()], [false, ['pay']])
  }
})

test('a transfer in a block, with a fee beside it, is not asked for again; after three minutes the payer may say that it failed', async () => {
  const kept = new Map<string, string>()
  const receipt = () => ({ status: '0x1', logs: [fee, transfer()] })
  const page = openPage({ blocked: false, receipt, kept })
  await page.pay()
  await page.pass(5000)
  assert.deepEqual([page.hidden(), page.words()[0]], [true, 'Sent'])
  await page.pass(170_000)
  assert.deepEqual([page.hidden(), page.words()[0]], [true, 'Sent'])
  await page.pass(10_000)
  assert.deepEqual([page.hidden(), page.words().slice(0, 2)], [true, ['retry', 'Uncounted']], 'in an open page')
  const later = openPage({ blocked: false, receipt, kept, startMs: 200_000 })
  await later.pass(10)
  assert.deepEqual([later.hidden(), later.words().slice(0, 2)], [true, ['retry', 'Uncounted']], 'in one that opens now')
})

for (const block of ['0x64', undefined])
  test(`while the service has not read the block${block ? '' : ', whose number the wallet does not say'}, nothing is offered again`, async () => {
    const kept = new Map<string, string>()
    let read: Read | null = null
    const receipt = () => ({ status: '0x1', logs: [transfer()], ...(block && { blockNumber: block }) })
    const page = openPage({ blocked: false, receipt, kept, read: () => read })
    await page.pay()
    await page.pass(300_000)
    assert.deepEqual([page.hidden(), page.words()[0]], [true, 'Sent'], 'it does not say how far')
    read = { block: 99, ageMs: 400_000 }
    await page.pass(60_000)
    assert.deepEqual([page.hidden(), page.words()[0]], [true, 'Sent'], 'it is behind')
    const later = openPage({ blocked: false, receipt, kept, startMs: 300_000, read: () => read })
    await later.pass(60_000)
    assert.deepEqual([later.hidden(), later.words()[0]], [true, 'Sent'], 'in a page that opens now')
    read = { block: 100, ageMs: 2000 }
    await page.pass(16_000)
    assert.deepEqual([page.hidden(), page.words().slice(0, 2)], [true, ['retry', 'Uncounted']], 'it has read it')
  })

test('a receipt with an empty list of logs says nothing about the transfer', async () => {
  const page = openPage({ blocked: false, receipt: () => ({ status: '0x1', logs: [] }) })
  await page.pay()
  await page.pass(5000)
  assert.deepEqual([page.hidden(), page.words()[0]], [true, 'Sent'])
})

test('what is missing beside a transfer in a block is offered three minutes later, without any news of the page', async () => {
  const page = openPage({ blocked: false, receipt: () => ({ status: '0x1' }) })
  await page.pay()
  await page.pass(5000)
  page.ask({ ...PAY, units: '400000' })
  await page.pass(100_000)
  assert.equal(page.hidden(), true)
  await page.pass(80_000)
  assert.deepEqual([page.hidden(), page.words()], [false, ['pay']])
})

const noReceipt = () => null
const key = 'comptoir:sent:C'

test('a transfer whose receipt the page never sees is offered again only once the service has read the chain past it', async () => {
  const kept = new Map<string, string>()
  let read: Read | null = null
  const page = openPage({ blocked: false, receipt: noReceipt, kept, read: () => read })
  const isOffered = ({ words }: typeof page) => words().some((one) => String(one) === 'retry')
  await page.pay()
  await page.pass(300_000)
  assert.deepEqual([page.hidden(), page.words()[0], isOffered(page)], [true, 'Slow', false], 'no answer')
  read = { block: 1e9, ageMs: 250_000 }
  await page.pass(60_000)
  assert.deepEqual([page.words()[0], isOffered(page)], ['Slow', false], 'it is behind')
  // hours later: read past the three minutes, and not up to now
  const later = openPage({ blocked: false, receipt: noReceipt, kept, startMs: 9e6, read: () => read })
  await later.pass(60_000)
  assert.deepEqual([later.words()[0], isOffered(later)], ['Slow', false])
  read = { block: 1e9, ageMs: 2000 }
  for (const one of [page, later]) {
    await one.pass(16_000)
    assert.deepEqual([one.hidden(), one.words().slice(0, 2)], [true, ['retry', 'Slow']])
  }
})

test('the three minutes begin when the wallet has sent, however long the payer took in it', async () => {
  const kept = new Map<string, string>()
  const wallet = Promise.withResolvers<string>()
  const page = openPage({
    blocked: false,
    receipt: noReceipt,
    kept,
    more: { eth_sendTransaction: () => wallet.promise },
  })
  await page.pay()
  await page.pass(240_000)
  wallet.resolve('0xhash')
  await page.pass(20_000)
  assert.deepEqual(page.words(), ['Sending', ''])
  await page.pass(150_000)
  assert.deepEqual(page.words(), ['Sending', ''])
  const later = openPage({ blocked: false, receipt: noReceipt, kept, startMs: 410_000 })
  assert.deepEqual(later.words(), ['Sending', ''], 'in a page that opens now')
  await page.pass(30_000)
  assert.deepEqual(page.words(), ['retry', 'Slow', ''])
})

test('a payer whose order asks for another sum on the same network waits until it is read, on another one does not', async () => {
  const kept = new Map<string, string>()
  let read: Read = { block: 1e9, ageMs: 600_000 }
  const page = openPage({ blocked: false, receipt: noReceipt, kept, read: () => read })
  await page.pay()
  page.ask({ ...PAY, units: '900000' })
  await page.pass(200_000)
  assert.deepEqual(page.words(), ['Slow', ''], 'it is behind')
  const asked = { ...PAY, to: `0x${'7'.repeat(40)}`, chain: 2 }
  const other = openPage({ blocked: false, receipt: noReceipt, kept, startMs: 10_000, asked, read: () => read })
  assert.deepEqual(other.words(), ['retry', 'Slow', ''])
  read = { block: 1e9, ageMs: 2000 }
  await page.pass(20_000)
  assert.deepEqual(page.words(), ['retry', 'Slow', ''])
})

test('what was signed has lapsed only once the chain is read past the moment at which it ran out', async () => {
  const at = 1_800_000_000_000
  const kept = new Map([[key, JSON.stringify({ ...PAY, hash: '0xhash', at, until: at + 660_000 })]])
  let read: Read | null = null
  const page = openPage({ blocked: false, receipt: noReceipt, kept, read: () => read })
  await page.pass(600_000)
  assert.deepEqual(page.words(), ['Underway', ''])
  await page.pass(100_000)
  assert.deepEqual(page.words(), ['Slow', ''], 'no answer')
  read = { block: 1e9, ageMs: 120_000 }
  await page.pass(30_000)
  assert.deepEqual(page.words(), ['Slow', ''], 'it is behind')
  read = { block: 1e9, ageMs: 2000 }
  await page.pass(20_000)
  assert.deepEqual(page.words(), ['again', 'Lapsed', ''])
})

test('a transfer on a network that the service reads no more: the payer reads whom to ask, and is offered nothing', async () => {
  const help = { shop: 'Shop', reference: 'C-1', email: 'shop@pay.test', phone: '+33 1' }
  for (const receipt of [noReceipt, () => ({ status: '0x1', blockNumber: '0x64', logs: [transfer()] })]) {
    const kept = new Map<string, string>()
    let read: Read = { removed: true }
    const page = openPage({ blocked: false, receipt, kept, read: () => read })
    page.ask({ ...PAY, ...help })
    await page.pay()
    await page.pass(200_000)
    const told = ['Unread', '', 'shop@pay.test']
    const said = ({ hidden, words }: typeof page) => [hidden(), words()]
    assert.deepEqual(said(page), [true, told])
    // in a page that opens now, also where the order is paid elsewhere by now, or the network has no wallets
    for (const more of [{}, { to: `0x${'7'.repeat(40)}`, chain: 2 }, { closed: true }]) {
      const asked = { ...PAY, ...help, ...more }
      const later = openPage({ blocked: false, receipt, kept, startMs: 300_000, asked, read: () => read })
      await later.pass(20_000)
      assert.deepEqual(said(later), [true, told], JSON.stringify(more))
    }
    // the operator has put the network back
    read = { block: 1e9, ageMs: 2000 }
    await page.pass(20_000)
    assert.equal(String(page.words()[0]), 'retry')
  }
})

test('a page that sends nobody to an address any more, whose network is read, follows what this browser sent there', async () => {
  const kept = new Map<string, string>()
  await openPage({ blocked: false, receipt: noReceipt, kept }).pay()
  const page = openPage({ blocked: false, receipt: noReceipt, kept, asked: { ...PAY, closed: true } })
  await page.pass(20_000)
  assert.deepEqual([page.hidden(), page.words()], [true, ['Sending', '']])
})

test('a page whose network has no wallets any more, in a browser that sent nothing, offers none', async () => {
  const page = openPage({ blocked: false, receipt: noReceipt, asked: { ...PAY, closed: true } })
  assert.deepEqual([page.hidden(), page.words()], [false, []])
})

const refuse = (error: object) => () => Promise.reject(error)

test('an account without a coin for gas: what its wallet sent with another fee is not offered again after an error', async () => {
  for (const error of [
    { code: 4900, message: 'disconnected' },
    { code: -32603, message: 'Internal error' },
  ]) {
    const kept = new Map<string, string>()
    const more = { eth_getBalance: () => '0x0', eth_sendTransaction: refuse(error) }
    const page = openPage({ blocked: false, receipt: noReceipt, more, kept })
    await page.pay()
    assert.ok(page.words().includes('Unsure'), String(page.words()))
    assert.equal(kept.size, 1, 'the request is remembered')
    const again = openPage({ blocked: false, receipt: noReceipt, more, kept })
    assert.ok(again.words().includes('Unsure'), 'also after a reload')
  }
})

test('an account without a coin for gas: where the wallet says so nothing was sent, and nothing is remembered', async () => {
  const words = 'insufficient funds for gas * price + value'
  for (const error of [
    { code: -32000, message: words },
    { code: -32603, message: 'Internal JSON-RPC error.', data: { code: -32000, message: words } },
    { code: -32603, message: 'gas required exceeds allowance (0)' },
  ]) {
    const kept = new Map<string, string>()
    const more = { eth_getBalance: () => '0x0', eth_sendTransaction: refuse(error) }
    const page = openPage({ blocked: false, receipt: noReceipt, more, kept })
    await page.pay()
    assert.ok(page.words().includes('NoFee'), String(page.words()))
    assert.equal(kept.size, 0)
  }
})
