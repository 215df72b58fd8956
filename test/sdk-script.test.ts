import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setImmediate as settle } from 'node:timers/promises'
import { runInNewContext } from 'node:vm'

/* What sdk.js keeps in a tab and calls on the shop's page, without a browser around it. */

const BASE = 'https://pay.example'
const SCRIPT = readFileSync(join(import.meta.dirname, '../web/sdkjs/sdk.js'), 'utf8')
  .replace("'__BASE__'", JSON.stringify(BASE))
  .replace("['__ORIGINS__']", JSON.stringify([BASE]))

type Button = { init(options: object): Button; handleModal(): void; getButtonUrl(): string }
type Listener = (event: { origin: string; source: object; data: object }) => void

/** A tab, whose storage outlives its pages. The service answers with `state` about every order that `states` lacks. */
function openTab(state: string) {
  const stored: Record<string, string> = {}
  const states: Record<string, string> = {}
  /** Addresses that the script has asked. */
  const asked: string[] = []
  let timers: (() => void)[] = []
  const tab = { state, states, stored, asked, loadPage, poll, search: '', keepsNothing: false }

  /** Lets all that wait for the next poll ask the service. */
  async function poll(): Promise<void> {
    const due = timers
    timers = []
    for (const ask of due) ask()
    await settle()
  }

  function loadPage() {
    const calls: string[] = []
    const events: string[] = []
    const listeners: Listener[] = []
    let frame = {}
    const ignore = () => undefined
    const createElement = (tag: string) => {
      const element = { contentWindow: {}, addEventListener: ignore, append: ignore, remove: ignore, showModal: ignore }
      if (tag === 'iframe') frame = element.contentWindow
      return { ...element, classList: { contains: () => false } }
    }
    const body = { append: ignore }
    const documentElement = { lang: 'en' }
    const page = { documentElement, body, createElement, adoptedStyleSheets: [], querySelectorAll: () => [] }
    const window: { Comptoir?: { BuyButton: new () => Button }; addEventListener: unknown } = {
      addEventListener: (_: string, listener: Listener) => listeners.push(listener),
    }
    runInNewContext(SCRIPT, {
      ...{ window, self: { origin: 'https://shop.example' }, performance, encodeURIComponent },
      location: { pathname: '/tea', search: tab.search },
      clearTimeout: (timer: () => void) => {
        timers = timers.filter((one) => one !== timer)
      },
      document: { ...page, dispatchEvent: ({ type }: Event) => events.push(type) },
      setTimeout: (ask: (...values: unknown[]) => void, _: number, ...values: unknown[]) => {
        const timer = () => ask(...values)
        timers.push(timer)
        return timer
      },
      CSSStyleSheet: class {
        replaceSync = ignore
      },
      CustomEvent,
      sessionStorage: {
        getItem: (key: string) => {
          if (tab.keepsNothing) throw new Error('storage is off')
          return stored[key] ?? null
        },
        setItem: (key: string, value: string) => {
          if (tab.keepsNothing) throw new Error('storage is off')
          stored[key] = value
        },
      },
      fetch: async (url: string) => {
        asked.push(url)
        return { json: async () => ({ data: { state: states[url.split('/').at(-1) ?? ''] ?? tab.state } }) }
      },
    })
    const makeButton = (options: object = { orderRef: 'REF-0001' }): Button => {
      const note = (word: string) => () => calls.push(word)
      const Made = window.Comptoir?.BuyButton ?? assert.fail()
      const told = { success: note('success'), error: note('error') }
      return new Made().init({ buttonId: 'B', autoSubscribeTransaction: true, ...told, ...options })
    }
    /** The page in the newest frame tells its order, and then its state, as at each resize. */
    const hear = async (conversionCode: string, shown?: string): Promise<void> => {
      const messages = [
        { conversionCode },
        ...(shown ? [{ type: 'comptoir:state', conversionCode, state: shown }] : []),
      ]
      for (const data of messages) for (const listener of listeners) listener({ origin: BASE, source: frame, data })
      await settle()
    }
    return { calls, events, makeButton, hear }
  }
  return tab
}

test('an older script, which a browser still has cached, finds the code of the order and nothing else', async () => {
  const tab = openTab('state:expired')
  const page = tab.loadPage()
  page.makeButton().handleModal()
  await page.hear('AAA')
  assert.deepEqual(page.calls, ['error'])
  assert.deepEqual(tab.stored['comptoir:B:REF-0001'], 'AAA')
  const again = tab.loadPage()
  assert.match(again.makeButton().getButtonUrl(), /&code=AAA&/)
  await settle()
  assert.deepEqual(again.calls, [], 'its end is not told again')
})

test('an order that is paid after its end was told is told as paid, after a reload or when its page opens again', async () => {
  const tab = openTab('state:expired')
  const first = tab.loadPage()
  first.makeButton().handleModal()
  await first.hear('AAA', 'expired')
  for (let sizes = 0; sizes < 3; sizes += 1) await first.hear('AAA', 'expired')
  assert.deepEqual(first.calls, ['error'])
  // reopened on a page that tells no state
  tab.state = 'state:pending'
  await first.hear('AAA')
  tab.state = 'state:executed'
  await tab.poll()
  assert.deepEqual(first.calls, ['error', 'success'])
  const again = tab.loadPage()
  again.makeButton()
  await settle()
  assert.deepEqual(again.calls, ['success'])
})

test('without a reference an end is told once, however often its page is resized, and the next click is a new order', async () => {
  const tab = openTab('state:expired')
  const page = tab.loadPage()
  const button = page.makeButton({})
  button.handleModal()
  await page.hear('AAA', 'waiting')
  for (let sizes = 0; sizes < 3; sizes += 1) await page.hear('AAA', 'expired')
  assert.deepEqual(page.calls, ['error'])
  assert.deepEqual(page.events, ['comptoir:order', 'comptoir:state', 'comptoir:state'])
  assert.doesNotMatch(button.getButtonUrl(), /AAA/)
  tab.state = 'state:pending'
  await page.hear('AAA', 'waiting')
  tab.state = 'state:executed'
  await page.hear('AAA', 'paid')
  await tab.poll()
  assert.deepEqual(page.calls, ['error', 'success'])
})

test('two buttons of one reference on a page lead to one order, and each hears that it is paid', async () => {
  const tab = openTab('state:pending')
  const page = tab.loadPage()
  const [one, other] = [page.makeButton(), page.makeButton()]
  one.handleModal()
  await page.hear('AAA', 'waiting')
  other.handleModal()
  assert.match(other.getButtonUrl(), /&code=AAA&/)
  await page.hear('AAA', 'waiting')
  tab.state = 'state:executed'
  await tab.poll()
  assert.deepEqual(page.calls, ['success', 'success'])
})

test('the end of an older order of one button makes the tab forget no newer order of another button', async () => {
  const tab = openTab('state:pending')
  const page = tab.loadPage()
  const [one, other] = [page.makeButton(), page.makeButton()]
  one.handleModal()
  await page.hear('AAA', 'waiting')
  one.handleModal()
  // its order cannot be paid any more: the buyer begins another one
  other.handleModal()
  await page.hear('BBB', 'waiting')
  tab.states.AAA = 'state:expired'
  for (let polls = 0; polls < 2; polls += 1) await tab.poll()
  assert.deepEqual([tab.stored['comptoir:B:REF-0001'], page.calls], ['BBB', []])
  other.handleModal()
  other.handleModal()
  assert.match(other.getButtonUrl(), /&code=BBB&/)
  tab.states.BBB = 'state:expired'
  other.handleModal()
  for (let polls = 0; polls < 2; polls += 1) await tab.poll()
  assert.deepEqual(page.calls, ['error'])
})

test('a cart that another button of the page has repriced is not told as an error while the new order begins', async () => {
  const tab = openTab('state:pending')
  const page = tab.loadPage()
  const make = (price: string) => page.makeButton({ orderRef: 'REF-0001', price })
  const [one, other] = [make('5'), make('6')]
  one.handleModal()
  await page.hear('AAA', 'waiting')
  one.handleModal()
  other.handleModal()
  tab.states.AAA = 'state:cancelled'
  await tab.poll()
  await page.hear('BBB', 'waiting')
  await tab.poll()
  assert.deepEqual([tab.stored['comptoir:B:REF-0001'], page.calls], ['BBB', []])
})

test('two codes that an older script has left in the tab are one order', async () => {
  const tab = openTab('state:pending')
  tab.stored['comptoir:B:REF-0001'] = 'AAA AAA'
  assert.match(tab.loadPage().makeButton().getButtonUrl(), /&code=AAA&/)
  await settle()
  assert.deepEqual(tab.asked, [`${BASE}/api/confirm_conversion/status/AAA`])
})

test('without a reference a reload leads back to the order until it ends, told by its page or by the service', async () => {
  for (const end of ['page', 'service', 'unpaid'] as const) {
    const tab = openTab('state:pending')
    const first = tab.loadPage()
    first.makeButton({}).handleModal()
    await first.hear('AAA', 'waiting')
    const again = tab.loadPage()
    const button = again.makeButton({})
    assert.match(button.getButtonUrl(), /&code=AAA&/)
    if (end === 'page') {
      button.handleModal()
      await again.hear('AAA', 'paid')
    } else {
      tab.state = end === 'service' ? 'state:executed' : 'state:expired'
      await tab.poll()
    }
    const last = tab.loadPage()
    assert.doesNotMatch(last.makeButton({}).getButtonUrl(), /AAA/, end)
    await settle()
    assert.deepEqual(last.calls, [], 'its end is not told again')
  }
})

test('without a reference another thing, another address of the shop and another page are other purchases', async () => {
  const tab = openTab('state:pending')
  const page = tab.loadPage()
  page.makeButton({ price: '5' }).handleModal()
  await page.hear('AAA', 'waiting')
  const again = tab.loadPage()
  assert.match(again.makeButton({ price: '5' }).getButtonUrl(), /&code=AAA&/)
  const goods = { goodsName: 'Cup', goodsType: '01', goodsCategory: '0000' }
  for (const other of [{ price: '6' }, { price: '5', goods }, { price: '5', buttonId: 'C' }, { display: 'page' }])
    assert.doesNotMatch(again.makeButton(other).getButtonUrl(), /AAA/, JSON.stringify(other))
  tab.search = '?id=2'
  assert.doesNotMatch(tab.loadPage().makeButton({ price: '5' }).getButtonUrl(), /AAA/)
})

test('an order that goes on at a fresh rate is kept again; a browser that keeps nothing begins another', async () => {
  const tab = openTab('state:pending')
  const page = tab.loadPage()
  page.makeButton({}).handleModal()
  for (const state of ['waiting', 'expired', 'waiting']) await page.hear('AAA', state)
  assert.match(tab.loadPage().makeButton({}).getButtonUrl(), /&code=AAA&/)
  tab.keepsNothing = true
  const off = tab.loadPage()
  const button = off.makeButton({})
  button.handleModal()
  await off.hear('BBB', 'waiting')
  button.handleModal()
  assert.match(button.getButtonUrl(), /&code=BBB&/)
})
