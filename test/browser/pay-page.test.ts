import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { privateKeyToAddress } from 'viem/accounts'
import { mint } from '../../sandbox/chain/token.ts'
import { TEXTS } from '../../src/texts/languages.ts'
import { listAxeFaults } from '../harness/axe.ts'
import { startBrowser, type Visit, visit } from '../harness/browser.ts'
import { openWalletPage } from '../harness/injected-wallet.ts'
import { type PayWorld, startPayWorld } from '../harness/pay-world.ts'
import { readQr } from '../harness/read-qr.ts'
import { blacklist } from '../harness/refunds.ts'

let world: PayWorld
let browser: Browser

before(async () => {
  ;[world, browser] = await Promise.all([startPayWorld(), startBrowser()])
})
after(async () => {
  await browser?.close()
  await world?.stop()
})

const DUE = 58_320_000n
const SHOP = { returnUrl: 'https://shop.example/thanks?a=1&b=2', cancelUrl: 'https://shop.example/cart' }

const WIDTHS = [320, 390, 1280]
const SCHEMES = ['light', 'dark'] as const

const open = (code: string, options?: Parameters<typeof visit>[2]): Promise<Visit> =>
  visit(browser, world.pageUrl(code), options)

/** As when its tab comes back to the front. */
const LOOKED_AT = "document.dispatchEvent(new Event('visibilitychange'))"

async function waitForState(page: Page, words: string): Promise<void> {
  await page.locator('#live h2', { hasText: words }).waitFor({ timeout: 15_000 })
}

test('one way to pay is not asked for: the page leads to address, amount and the QR code of the link', async () => {
  const code = await world.createOrder(SHOP)
  const { page, context, complaints } = await open(code)
  await waitForState(page, 'Waiting for your payment')
  const { toAddress, paymentUri, tokenAmount } = await world.accept(code)
  assert.equal(tokenAmount, '58.320000')
  assert.equal(await page.locator('#address').textContent(), toAddress)
  assert.equal(await page.locator('#amount').textContent(), '58.32')
  assert.equal(await readQr(page.locator('.frame.link')), paymentUri)
  await page.getByText('Address only').click()
  assert.equal(await readQr(page.locator('.frame.plain')), toAddress)
  const main = (await page.locator('main').textContent()) ?? ''
  for (const words of ['Test & Söhne', '€54.00', '1 EUR = 1.08 USDC', 'Send only USDC, and only on Sandbox chain']) {
    assert.ok(main.includes(words), `${words} is on the page`)
  }
  assert.deepEqual(complaints, [])
  await context.close()
})

test('the payment turns the open page from waiting to seen to paid, without a reload', async () => {
  const { code, toAddress } = await world.createAccepted(SHOP)
  const { page, context, requests, complaints } = await open(code)
  await page.evaluate('window.stillTheSame = true')
  const txHash = await world.chain.pay({ to: toAddress, units: DUE })
  await waitForState(page, 'Payment received, confirming')
  await page.getByText('1 of 3 confirmations').waitFor()
  await page.waitForTimeout(2500) // past the next look at the database: from here on only the chain grows
  assert.equal(await page.locator('#say').textContent(), 'Payment received, confirming')
  await world.chain.mine()
  await page.getByText('2 of 3 confirmations').waitFor()
  await world.chain.mine()
  await waitForState(page, 'Paid')
  assert.equal(await page.evaluate('window.stillTheSame'), true)
  assert.equal(await page.title(), 'Paid · Test & Söhne')
  assert.ok((await page.locator('dl').textContent())?.includes(txHash))
  const back = page.getByRole('link', { name: 'Back to the shop' })
  assert.equal(await back.getAttribute('href'), SHOP.returnUrl)
  assert.match((await back.getAttribute('rel')) ?? '', /noopener/)
  const streams = requests.filter((url) => url.includes('/pay/events')).length
  await page.waitForTimeout(2500)
  assert.equal(requests.filter((url) => url.includes('/pay/events')).length, streams, 'a paid page asks no more')
  await world.moveElsewhere(code, 'revert')
  await page.evaluate(LOOKED_AT)
  await waitForState(page, 'Your refund is on its way')
  assert.deepEqual(complaints, [])
  await context.close()
})

test('after half of the amount the page says what is missing, and its QR code asks for the rest', async () => {
  const { code, toAddress, paymentUri } = await world.createAccepted()
  const { page, context } = await open(code)
  await world.chain.pay({ to: toAddress, units: 20_000_000n })
  await waitForState(page, 'Part of your payment has arrived')
  assert.equal(await page.locator('#amount').textContent(), '38.32')
  assert.equal(await page.locator('#address').textContent(), toAddress)
  assert.equal(await readQr(page.locator('.frame.link')), paymentUri.replace('58320000', '38320000'))
  await page.locator('#copy-amount').focus()
  await world.chain.pay({ to: toAddress, units: 38_320_000n })
  await waitForState(page, 'Payment received, confirming')
  const [focus, said] = (await page.evaluate(
    "[document.activeElement.id, document.getElementById('say').textContent]",
  )) as string[]
  assert.equal(focus, 'live', 'what had the focus is gone: the keyboard goes on at the news')
  assert.equal(said, 'Payment received, confirming')
  await world.chain.mine(3)
  await waitForState(page, 'Paid')
  await context.close()
})

test('what another node does to an order reaches the open page too', async () => {
  const { code } = await world.createAccepted(SHOP)
  const { page, context } = await open(code)
  await world.moveElsewhere(code, 'expire')
  await waitForState(page, 'The time to pay has run out')
  const boxes = page.locator('.box')
  assert.equal(await boxes.count(), 2)
  assert.match(
    (await boxes.nth(0).textContent()) ?? '',
    /I have not paid yet.*today’s rate.*New price.*Back to the shop/,
  )
  assert.match((await boxes.nth(1).textContent()) ?? '', /I have already paid.*Do not pay again/)
  await context.close()
})

test('the payer cancels; what was open and chosen on the page survives the news', async () => {
  const { code } = await world.createAccepted(SHOP)
  const { page, context } = await open(code)
  await page.getByText('Address only').click()
  await page.getByText('I have paid, but nothing happens').click()
  const shown = await page.locator('#live').getAttribute('data-id')
  await world.moveElsewhere(code, 'accept', 'forward')
  await page.locator(`#live:not([data-id="${shown}"])`).waitFor()
  assert.equal(await page.locator('#as-address').isChecked(), true)
  assert.equal(await page.locator('#help').getAttribute('open'), '')
  await page.getByText('Cancel this order').click()
  await page.getByRole('button', { name: 'Yes, cancel' }).click()
  await waitForState(page, 'This order was cancelled')
  assert.equal(await page.getByRole('link', { name: 'Back to the shop' }).getAttribute('href'), SHOP.cancelUrl)
  await context.close()
})

test('everything works without JavaScript, also the news', async () => {
  const code = await world.createOrder(SHOP)
  const { page, context, complaints } = await open(code, { javaScriptEnabled: false })
  await page.getByRole('button', { name: 'Pay with USDC from your wallet' }).click()
  await waitForState(page, 'Waiting for your payment')
  const { toAddress, paymentUri } = await world.accept(code)
  assert.equal(await page.locator('#address').textContent(), toAddress)
  assert.equal(await readQr(page.locator('.frame.link')), paymentUri)
  await page.getByText('Address only').click()
  assert.equal(await readQr(page.locator('.frame.plain')), toAddress)
  assert.equal(await page.locator('.copy').first().isVisible(), false)
  await world.chain.pay({ to: toAddress, units: DUE })
  await world.chain.mine(3)
  await waitForState(page, 'Paid')
  assert.deepEqual(complaints, [])
  await context.close()
})

test('a search in vain keeps what was typed: without a script, in another language, and after Back', async () => {
  const { code } = await world.createAccepted(SHOP)
  for (const javaScriptEnabled of [false, true]) {
    const { page, context } = await open(code, { javaScriptEnabled })
    const field = page.locator('#reference')
    await page.getByText('I have paid, but nothing happens').click()
    if (!javaScriptEnabled) {
      assert.equal(await field.isVisible(), false, 'nothing is typed on a page that loads itself anew')
      await page.getByRole('link', { name: 'Look for my payment' }).click()
    }
    await field.fill('PAY-123')
    await page.getByRole('button', { name: 'Look for my payment' }).click()
    await page.getByText('The provider has not reported a payment').waitFor()
    await page.getByRole('link', { name: 'Français' }).click()
    await page.locator('html[lang=fr]').waitFor()
    assert.equal(await field.inputValue(), 'PAY-123')
    await page.goBack()
    await page.locator('#problem').waitFor()
    assert.equal(await field.inputValue(), 'PAY-123')
    await context.close()
  }
})

test('the sandbox offers the test wallet: one click pays, and the payer is back on the page', async () => {
  const { code } = await world.createAccepted()
  const { page, context, complaints } = await open(code)
  await page.getByRole('button', { name: 'Half' }).click()
  await waitForState(page, 'Part of your payment has arrived')
  await page.getByRole('button', { name: 'Full amount' }).click()
  await waitForState(page, 'Payment received, confirming')
  await world.chain.mine(3)
  await waitForState(page, 'Paid')
  assert.equal(new URL(page.url()).pathname, '/pay')
  assert.deepEqual(complaints, [])
  await context.close()
})

const openWithWallet = (key?: `0x${string}`, body?: Record<string, unknown>) =>
  openWalletPage(browser, world, key, body)

test('a wallet in the browser pays with one click and a real signature; neither a reload nor another tab pays again', async () => {
  const { page, context, complaints, owner, button, toAddress } = await openWithWallet()
  assert.deepEqual(await listAxeFaults(page), [])
  const other = await context.newPage()
  await other.goto(page.url())
  const offered = other.getByRole('button', { name: 'Pay with Test Wallet' })
  const followed = async (tab: Page): Promise<void> => {
    await tab.getByText('Waiting for Sandbox chain to include it in a block').waitFor()
  }
  owner.meanwhile = async () => {
    owner.meanwhile = null
    await button.click()
    for (const tab of [page, other]) await followed(tab)
  }
  await offered.click()
  await followed(page)
  await page.reload()
  for (const tab of [page, other]) await followed(tab)
  assert.deepEqual([await button.count(), await offered.count()], [0, 0], 'what was sent once is not offered again')
  await world.chain.mine()
  await waitForState(page, 'Payment received, confirming')
  await world.chain.mine(3)
  for (const tab of [page, other]) await waitForState(tab, 'Paid')
  assert.equal(await world.chain.balanceOf(toAddress), DUE)
  assert.equal(owner.asked.filter((method) => method === 'eth_sendTransaction').length, 1)
  assert.deepEqual(complaints, [])
  await context.close()
})

test('a wallet on another network is switched, and one that does not know the network learns it', async () => {
  const { page, context, owner, button } = await openWithWallet()
  Object.assign(owner, { chainId: 1, known: [1] })
  await button.click()
  await page.getByText('Waiting for Sandbox chain to include it in a block').waitFor()
  assert.deepEqual(owner.added, [
    {
      chainId: '0x7a69',
      chainName: 'Sandbox chain',
      nativeCurrency: { name: 'ETH', symbol: 'ETH', decimals: 18 },
      rpcUrls: [world.chain.rpcUrl],
    },
  ])
  await world.chain.mine(3)
  await waitForState(page, 'Paid')
  await context.close()
})

test('without a coin for gas the payer only signs, and our relayer pays the fee', async () => {
  const key = `0x${randomBytes(32).toString('hex')}` as const
  await mint(world.chain.call, privateKeyToAddress(key), DUE)
  const { page, context, owner, button, toAddress, complaints } = await openWithWallet(key)
  await button.click()
  await page.getByText('Waiting for Sandbox chain to include it in a block').waitFor()
  const mining = setInterval(() => void world.chain.mine().catch(() => {}), 500)
  await waitForState(page, 'Paid')
  clearInterval(mining)
  assert.equal(await world.chain.balanceOf(toAddress), DUE)
  assert.equal(await world.chain.balanceOf(privateKeyToAddress(key)), 0n)
  assert.ok(!owner.asked.includes('eth_sendTransaction'))
  assert.deepEqual(complaints, [])
  await context.close()
})

test('whatever the wallet refuses has words of its own, nothing is sent, and the next try works', async () => {
  const { page, context, owner, button, attempt } = await openWithWallet()
  const refused = async (method: string, number: number, say: RegExp): Promise<void> => {
    owner.refuses = { [method]: number }
    assert.match(await attempt(), say)
    await page.locator('#wallet .note').evaluate((note) => note.remove())
  }
  await refused('eth_requestAccounts', 4001, /You declined in Test Wallet. Nothing was sent/)
  await refused('eth_requestAccounts', -32002, /Test Wallet is locked, or a request is already open/)
  await refused('eth_sendTransaction', 4001, /You declined in Test Wallet/)
  await refused('eth_sendTransaction', -32603, /Check in Test Wallet whether the payment was sent/)
  owner.chainId = 1
  await refused('wallet_switchEthereumChain', 4001, /on another network. Switch it to Sandbox chain/)
  owner.known = [1]
  await refused('wallet_addEthereumChain', -32602, /does not know Sandbox chain/)
  Object.assign(owner, { refuses: {}, chainId: world.chain.chainId })
  await button.click()
  await page.getByText('Waiting for Sandbox chain to include it in a block').waitFor()
  await world.chain.mine(3)
  await waitForState(page, 'Paid')
  await context.close()
})

test('a wallet that never answers keeps no payer, also after a reload, and what it sends in the end is not lost', async () => {
  const { page, context, owner, button, toAddress } = await openWithWallet()
  const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const unsure = page.getByText('Check in Test Wallet whether the payment was sent')
  owner.waits = { eth_sendTransaction: first.promise }
  await button.click()
  await page.getByText('Confirm 58.32 USDC in Test Wallet').waitFor()
  assert.equal(await button.isDisabled(), true)
  await page.reload()
  await unsure.waitFor()
  owner.refuses = { eth_sendTransaction: 4001 }
  first.resolve()
  owner.waits = { eth_sendTransaction: second.promise }
  await button.click()
  await page.getByRole('button', { name: 'Stop waiting' }).click()
  await unsure.waitFor()
  assert.equal(await button.isEnabled(), true)
  owner.refuses = {}
  second.resolve()
  await page.getByText('Waiting for Sandbox chain to include it in a block').waitFor()
  assert.equal(await button.count(), 0, 'what came late is no reason to pay again')
  await world.chain.mine(4)
  await waitForState(page, 'Paid')
  assert.equal(await world.chain.balanceOf(toAddress), DUE)
  await context.close()
})

test('too little money, in the payer’s language; a payment that the network rejects; an order that changed meanwhile', async () => {
  const key = `0x${randomBytes(32).toString('hex')}` as const
  const address = privateKeyToAddress(key)
  await mint(world.chain.call, address, 1_500_000n)
  await world.chain.call('anvil_setBalance', address, '0x56bc75e2d63100000')
  const { page, context, owner, attempt, code, toAddress } = await openWithWallet(key)
  assert.match(await attempt(), /^This account holds 1.50 USDC on Sandbox chain, but 58.32 are needed/)
  await page.goto(`${world.pageUrl(code)}&lang=de`)
  await page.getByRole('button', { name: 'Mit Test Wallet bezahlen' }).click()
  await page.getByText('Auf diesem Konto sind 1,50 USDC auf Sandbox chain, nötig sind 58,32.').waitFor()
  await mint(world.chain.call, address, 100_000_000n)
  await page.goto(`${world.pageUrl(code)}&lang=en`)
  owner.meanwhile = async () => {
    await world.chain.pay({ to: toAddress, units: 20_000_000n })
    await waitForState(page, 'Part of your payment has arrived')
  }
  assert.match(await attempt(), /The order changed in the meantime, so nothing was sent/)
  owner.meanwhile = null
  await blacklist(world.chain, address)
  await page.getByRole('button', { name: 'Pay with Test Wallet' }).click()
  await page.getByText('Waiting for Sandbox chain to include it in a block').waitFor()
  await world.chain.mine()
  await page.getByText('The network rejected the payment: no USDC left your account').waitFor()
  assert.equal(await world.chain.balanceOf(toAddress), 20_000_000n)
  await page.getByRole('button', { name: 'Pay with Test Wallet' }).waitFor()
  await context.close()
})

test('a signature that the token refuses, no coin for the fee, and a payment that no block takes have their words', async () => {
  const key = `0x${randomBytes(32).toString('hex')}` as const
  const address = privateKeyToAddress(key)
  await mint(world.chain.call, address, DUE)
  const { page, context, owner, button, attempt } = await openWithWallet(key)
  const fails = async (say: RegExp): Promise<void> => {
    assert.match(await attempt(), say)
    await page.locator('#wallet .note').evaluate((note) => note.remove())
  }
  owner.signature = `0x${'11'.repeat(64)}1b`
  await fails(/The payment was not accepted: no USDC left your account/)
  // a contract wallet signs in a form that the relayer cannot use
  owner.signature = `0x${'22'.repeat(80)}`
  await fails(/This account has no ETH on Sandbox chain for the network fee/)
  await world.chain.call('anvil_setBalance', address, '0x56bc75e2d63100000')
  await button.click()
  await page.getByText('Waiting for Sandbox chain to include it in a block').waitFor()
  await page.evaluate(`for (const [name, text] of Object.entries(localStorage)) {
    const sent = JSON.parse(text)
    localStorage.setItem(name, JSON.stringify({ ...sent, sentAt: sent.sentAt - 181_000 }))
  }`)
  await page.reload()
  await page.getByText('has not included your payment yet. Do not pay again').waitFor()
  assert.equal(await button.count(), 0)
  // it is offered again once the chain is read past the three minutes
  await world.chain.call('anvil_dropAllTransactions')
  await world.chain.mine()
  await page.getByRole('button', { name: 'It failed in my wallet: pay again' }).click({ timeout: 40_000 })
  await button.waitFor()
  await context.close()
})

test('amount and address are copied whole', async () => {
  const { code, toAddress } = await world.createAccepted()
  const { page, context } = await open(code, { permissions: ['clipboard-read', 'clipboard-write'] })
  const copied = () => page.evaluate('navigator.clipboard.readText()')
  await page.getByRole('button', { name: 'Copy address' }).click()
  await page.getByRole('button', { name: 'Copied address' }).waitFor()
  assert.equal(await copied(), toAddress)
  await page.getByRole('button', { name: 'Copy amount' }).click()
  await page.getByRole('button', { name: 'Copied amount' }).waitFor()
  assert.equal(await copied(), '58.32')
  // as in the browser of a messenger
  await page.evaluate(`Object.defineProperty(navigator, 'clipboard', { value: undefined })
    document.execCommand = () => false`)
  await page.getByRole('button', { name: 'Copy address' }).click()
  await page.getByRole('alert').getByText('copy it by hand').waitFor()
  assert.equal(await page.getByRole('button', { name: 'Copied address' }).count(), 0, 'nothing was copied')
  assert.equal(await page.evaluate('getSelection().toString()'), toAddress)
  await context.close()
})

test('the page weighs less than 15 kB over the wire and asks no other host', async () => {
  const { code } = await world.createAccepted(SHOP)
  const { page, context, requests } = await open('x')
  const session = await context.newCDPSession(page)
  await session.send('Network.enable')
  const bytesOf = new Map<string, number>()
  session.on('Network.dataReceived', ({ requestId, encodedDataLength }) => {
    bytesOf.set(requestId, (bytesOf.get(requestId) ?? 0) + encodedDataLength)
  })
  session.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => bytesOf.set(requestId, encodedDataLength))
  requests.length = 0
  await page.goto(world.pageUrl(code))
  await page.waitForTimeout(1000)
  const bytes = [...bytesOf.values()].reduce((sum, size) => sum + size, 0)
  assert.ok(bytes > 3000 && bytes < 15_000, `${bytes} bytes`)
  assert.deepEqual([...new Set(requests.map((url) => new URL(url).origin))], [world.host.baseUrl])
  await context.close()
})

test('the code on the page holds the link of the payment, at every width, light and dark', async () => {
  const { code, paymentUri } = await world.createAccepted()
  for (const width of WIDTHS) {
    for (const colorScheme of SCHEMES) {
      const { page, context } = await open(code, {
        viewport: { width, height: 900 },
        colorScheme,
        deviceScaleFactor: 1,
      })
      assert.equal(await readQr(page.locator('.frame.link')), paymentUri, `${width} ${colorScheme}`)
      await context.close()
    }
  }
})

test('with the keyboard alone: choose, switch the code, copy, open the help, cancel', async () => {
  const code = await world.createOrder(SHOP)
  const { page, context } = await open('x', { permissions: ['clipboard-read', 'clipboard-write'], isMobile: false })
  await page.goto(`${world.pageUrl(code)}&problem=CHANNEL_UNAVAILABLE`)
  // what a page begins with is read out only where the focus is on it
  assert.equal(await page.evaluate('document.activeElement.id'), 'problem')
  /** Tabs on until the focus is there. */
  const reach = async (selector: string): Promise<void> => {
    for (let steps = 0; steps < 40; steps += 1) {
      await page.keyboard.press('Tab')
      if (await page.evaluate(`document.activeElement.matches(${JSON.stringify(selector)})`)) return
    }
    assert.fail(`${selector} is not reached with the tab key`)
  }
  await reach('form[action$="/pay/accept"] button')
  await page.keyboard.press('Enter')
  await waitForState(page, 'Waiting for your payment')
  await reach('#as-link')
  await page.keyboard.press('ArrowRight')
  assert.equal(await page.locator('#as-address').isChecked(), true)
  await reach('#copy-amount')
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: 'Copied amount' }).waitFor()
  await reach('#help summary')
  await page.keyboard.press('Enter')
  assert.equal(await page.locator('#help').getAttribute('open'), '')
  await reach('#cancel summary')
  await page.keyboard.press('Enter')
  await reach('#cancel button')
  await page.keyboard.press('Enter')
  await waitForState(page, 'This order was cancelled')
  await context.close()
})

test('an expired order in one tap: a fresh price on the same page, without a script, and it can be paid', async () => {
  const { code, toAddress } = await world.createAccepted(SHOP)
  await world.moveElsewhere(code, 'expire')
  const { page, context } = await open(code, { javaScriptEnabled: false })
  await page.getByRole('button', { name: 'New price, pay with USDC from your wallet' }).click()
  await waitForState(page, 'Waiting for your payment')
  const fresh = (await page.locator('#address').textContent()) ?? ''
  assert.notEqual(fresh, toAddress, 'money that comes to the old address is told apart')
  await world.chain.pay({ to: fresh, units: DUE })
  await world.chain.mine(3)
  await page.reload()
  await waitForState(page, 'Paid')
  await context.close()
})

test('the language switch works without a script, and is remembered on the next page', async () => {
  const { code } = await world.createAccepted(SHOP)
  const { page, context } = await visit(browser, world.pageUrl(code), { javaScriptEnabled: false, locale: 'es-ES' })
  await waitForState(page, TEXTS.es.order.situations.waiting.title)
  await page.getByRole('link', { name: 'Deutsch' }).click()
  await waitForState(page, TEXTS.de.order.situations.waiting.title)
  await page.goto(world.pageUrl(code))
  await waitForState(page, TEXTS.de.order.situations.waiting.title)
  assert.equal(await page.locator('html').getAttribute('lang'), 'de')
  await context.close()
})

test('an unknown code gets a page that says what to do', async () => {
  const { page, context } = await open('nothing')
  assert.match((await page.locator('main').textContent()) ?? '', /cannot find this order.*whole link/)
  assert.deepEqual(await listAxeFaults(page), [])
  await context.close()
})
