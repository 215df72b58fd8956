import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { promisify } from 'node:util'
import { x402Client } from '@x402/core/client'
import { decodePaymentResponseHeader } from '@x402/core/http'
import { ExactEvmScheme } from '@x402/evm/exact/client'
import { wrapFetchWithPayment } from '@x402/fetch'
import { privateKeyToAccount } from 'viem/accounts'
import { mint } from '../sandbox/chain/token.ts'
import { type Providers, startProviders } from '../sandbox/providers/server.ts'
import { createRpc } from '../src/chain/endpoints/rpc.ts'
import { networkFor } from '../src/chain/networks.ts'
import { authorizationData, authorizedTransferData } from '../src/chain/payout/usdc-token.ts'
import { sql } from '../src/db/db.ts'
import { payoutEnv } from './harness/refunds.ts'
import { eventually } from './harness/service.ts'
import { openShop, type Shop } from './harness/shop.ts'

const ROOT = join(import.meta.dirname, '..')

type Required = {
  x402Version: number
  error: string
  accepts: { scheme: string; network: string; amount: string; payTo: string; asset: string }[]
}

let providers: Providers
const withLimits: typeof payoutEnv = async (chain) => {
  const pay = () => Promise.reject(new Error('these orders are paid by x402'))
  const wallet = { chainId: chain.chainId, usdcAddress: chain.usdcAddress, payerAddress: chain.payer, pay }
  providers = await startProviders({ port: 0, chain: wallet, callbackBase: 'http://127.0.0.1:9' })
  const gatePay = Object.entries(providers.credentials).filter(([name]) => name.startsWith('CHANNEL_GATEPAY'))
  const limits = { CHAIN_31337_RELAY_MIN: '1', LIMIT_RELAY_PER_DAY: '100' }
  return { ...(await payoutEnv(chain)), ...Object.fromEntries(gatePay), ...limits }
}

let shop: Shop
let mining: NodeJS.Timeout

before(async () => {
  shop = await openShop({ env: withLimits })
  mining = setInterval(() => void shop.chain.mine().catch(() => {}), 200)
})
after(async () => {
  clearInterval(mining)
  await shop?.stop()
  await providers?.stop()
})

const urlOf = (code: string): string => `${shop.host.baseUrl}/pay/x402/${code}`

/** A wallet with test money and not a single wei. */
async function newPayer(units = 100_000_000n) {
  const account = privateKeyToAccount(`0x${randomBytes(32).toString('hex')}`)
  await mint(shop.chain.call, account.address, units)
  return account
}

/** A client library that we did not write; it remembers the header that it sent. */
function openPayer(account: Awaited<ReturnType<typeof newPayer>>) {
  const sent: string[] = []
  const client = new x402Client().register('eip155:31337', new ExactEvmScheme(account)).setSpendControls(false)
  const remember: typeof fetch = (input, init) => {
    const header = new Request(input, init).headers.get('payment-signature')
    if (header) sent.push(header)
    return fetch(input, init)
  }
  return { pay: wrapFetchWithPayment(remember, client), sent }
}

const countRelayed = async (account: { address: string }): Promise<bigint> => {
  const { times } = await shop.host.db.one<{ times: bigint }>(sql`
    select count(*) as times from chain_payouts where kind = 'payment' and from_address = ${account.address.toLowerCase()}`)
  return times
}

test('a foreign client pays an order priced in euros with one signature, and it becomes PAID', async () => {
  const order = await shop.create()
  const account = await newPayer()
  const { pay, sent } = openPayer(account)
  const answer = await pay(urlOf(order.code))
  const text = await answer.text()
  assert.equal(answer.status, 200, text)
  const { success, transaction, network, payer } = decodePaymentResponseHeader(
    answer.headers.get('payment-response') ?? '',
  )
  assert.deepEqual([success, network, payer], [true, 'eip155:31337', account.address])
  assert.match(transaction, /^0x[0-9a-f]{64}$/)
  const { data } = JSON.parse(text) as { data: Record<string, string> }
  assert.deepEqual([data.code, data.fromAmount, data.toAmount], [order.code, '50.00', '54.000000'])
  await shop.reaches(order.code, 'PAID')
  assert.equal(await shop.chain.balanceOf(account.address), 46_000_000n)
  assert.equal(await shop.chain.call('eth_getTransactionCount', account.address, 'latest'), '0x0')
  const again = await fetch(urlOf(order.code), { headers: { 'payment-signature': sent[0] ?? '' } })
  assert.equal(again.status, 200)
  assert.equal(((await again.json()) as { data: { status: string } }).data.status, 'PAID')
  assert.equal(await shop.chain.balanceOf(account.address), 46_000_000n)
  assert.equal(await countRelayed(account), 1n)
})

/** The programs that the documentation prints. */
const printed = (): string[] =>
  [...readFileSync(join(ROOT, 'docs/x402.md'), 'utf8').matchAll(/```ts\n(.*?)```/gs)].map(([, code = '']) => code)

test('the program that the documentation prints pays an order of the sandbox', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'comptoir-x402-'))
  const key = `0x${randomBytes(32).toString('hex')}` as const
  await mint(shop.chain.call, privateKeyToAccount(key).address, 100_000_000n)
  const { usdcAddress } = shop.chain
  const facts = { payUrl: shop.host.baseUrl, payerPrivateKey: key, usdcAddress }
  mkdirSync(join(folder, 'data'))
  writeFileSync(join(folder, 'data/sandbox.json'), JSON.stringify(facts))
  writeFileSync(join(folder, 'pay.mts'), printed()[0] ?? '')
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  const order = await shop.create()
  const { stdout } = await promisify(execFile)(process.execPath, ['pay.mts', order.code], { cwd: folder })
  assert.match(stdout, /^200 /)
  await shop.reaches(order.code, 'PAID')
  rmSync(folder, { recursive: true, force: true })
})

test('the client that it prints for Base signs for 54 USDC, and for no more than it says', async () => {
  const account = privateKeyToAccount(`0x${randomBytes(32).toString('hex')}`)
  const open = new Function('x402Client', 'ExactEvmScheme', 'account', `${printed()[1]}; return client`)
  const client = open(x402Client, ExactEvmScheme, account) as x402Client
  const { usdcAddress: asset } = networkFor({ chainId: 8453 })
  const ask = (amount: string) => {
    const terms = { scheme: 'exact', network: 'eip155:8453' as const, amount, asset, payTo: account.address }
    const accepts = [{ ...terms, maxTimeoutSeconds: 300, extra: { name: 'USD Coin', version: '2' } }]
    return client.createPaymentPayload({ x402Version: 2, resource: { url: 'https://pay.example' }, accepts })
  }
  assert.equal((await ask('54000000')).accepted.amount, '54000000')
  await assert.rejects(ask('101000000'), /rejected by spendControls/)
})

test('without a payment it says what it asks for: version 2, the exact amount, the order’s own address', async () => {
  const order = await shop.create()
  const answer = await fetch(urlOf(order.code))
  assert.equal(answer.status, 402)
  const required = JSON.parse(
    Buffer.from(answer.headers.get('payment-required') ?? '', 'base64').toString(),
  ) as Required
  assert.deepEqual(await answer.json(), required)
  const [first] = required.accepts
  assert.equal(required.x402Version, 2)
  assert.deepEqual([first?.scheme, first?.network, first?.amount], ['exact', 'eip155:31337', '54000000'])
  const { data } = await shop.accept(order.code)
  assert.equal(data.toAddress, first?.payTo)
  const page = await fetch(urlOf(order.code), { headers: { accept: 'text/html' }, redirect: 'manual' })
  assert.deepEqual([page.status, page.headers.get('location')?.endsWith(`/pay?code=${order.code}`)], [303, true])
})

test('a link preview or a bare question moves no order off the channel that its payer chose; ?network= does', async () => {
  const { code } = await shop.create()
  const { data } = await shop.accept(code, { paymentChannel: 'gatepay' })
  assert.equal(data.status, 'AWAITING')
  const channelOf = async () => (await shop.host.call<{ paymentChannel: string }>('GET', `status/${code}`)).data
  await fetch(urlOf(code), { method: 'HEAD' })
  assert.equal((await channelOf()).paymentChannel, 'gatepay')
  const bare = await fetch(urlOf(code))
  const { error } = (await bare.json()) as { error: { code: string; message: string } }
  assert.deepEqual([bare.status, error.code], [409, 'ORDER_STATE_CONFLICT'])
  assert.match(error.message, /gatepay.+\?network=31337/)
  assert.equal((await channelOf()).paymentChannel, 'gatepay')
  assert.equal((await fetch(`${urlOf(code)}?network=31337`)).status, 402)
  assert.equal((await channelOf()).paymentChannel, 'crypto')
  const untouched = await shop.create()
  await fetch(urlOf(untouched.code), { method: 'HEAD' })
  assert.equal((await shop.host.call<{ status: string }>('GET', `status/${untouched.code}`)).data.status, 'INITIAL')
})

test('the same payment sent many times at once is submitted once', async () => {
  const order = await shop.create()
  const account = await newPayer()
  const { pay, sent } = openPayer(account)
  const first = pay(urlOf(order.code))
  const header = await eventually(
    async () => sent[0],
    (one) => one !== undefined,
  )
  const headers = { 'payment-signature': header ?? '' }
  // also while the order becomes PAID
  const sendUntilPaid = async (): Promise<void> => {
    for (let status = ''; status !== 'PAID'; ) {
      const answer = await fetch(urlOf(order.code), { headers })
      const text = await answer.text()
      assert.equal(answer.status, 200, text)
      status = (JSON.parse(text) as { data: { status: string } }).data.status
    }
  }
  await Promise.all(Array.from({ length: 6 }, sendUntilPaid))
  assert.equal((await first).status, 200)
  assert.equal(await shop.chain.balanceOf(account.address), 46_000_000n)
  assert.equal(await countRelayed(account), 1n)
})

test('a changed, foreign, unfunded or senseless payment is 402 again, and nothing is sent', async () => {
  const order = await shop.create()
  const other = await shop.create({ amount: 40 })
  const poor = await newPayer(1_000_000n)
  const { pay, sent } = openPayer(poor)
  const unfunded = await pay(urlOf(order.code))
  assert.equal(unfunded.status, 402)
  assert.equal(((await unfunded.json()) as Required).error, 'insufficient_funds')
  const content = JSON.parse(Buffer.from(sent[0] ?? '', 'base64').toString())
  const send = async (code: string, changed: unknown): Promise<string> => {
    const header = Buffer.from(JSON.stringify(changed)).toString('base64')
    const answer = await fetch(urlOf(code), { headers: { 'payment-signature': header } })
    assert.equal(answer.status, 402)
    return ((await answer.json()) as Required).error
  }
  const withAuthorization = (what: object) => ({
    ...content,
    payload: { ...content.payload, authorization: { ...content.payload.authorization, ...what } },
  })
  assert.equal(
    await send(order.code, withAuthorization({ value: '1' })),
    'invalid_exact_evm_payload_authorization_value',
  )
  const later = { validBefore: String(Math.floor(Date.now() / 1000) + 9999) }
  assert.equal(await send(order.code, withAuthorization(later)), 'invalid_exact_evm_payload_signature')
  assert.equal(await send(other.code, content), 'invalid_payment_requirements')
  assert.equal(await send(order.code, { ...content, x402Version: 1 }), 'invalid_payload')
  const foreign = { ...content, accepted: { ...content.accepted, network: 'eip155:1' } }
  assert.equal(await send(order.code, foreign), 'invalid_network')
  const garbage = await fetch(urlOf(order.code), { headers: { 'payment-signature': 'garbage' } })
  assert.equal(garbage.status, 402)
  assert.equal(await countRelayed(poor), 0n)
})

/** An authorization as a wallet signs it, in the header of x402. */
async function signFor(
  account: Awaited<ReturnType<typeof newPayer>>,
  { code, nonce = `0x${randomBytes(32).toString('hex')}` as const, validBefore = inSeconds(300n) }: Signed,
): Promise<{ 'payment-signature': string }> {
  const { accepts } = (await (await fetch(urlOf(code))).json()) as Required
  const [accepted] = accepts
  assert.ok(accepted)
  const { data, content } = await typedTransfer({ from: account.address, accepted, nonce, validBefore })
  const signature = (await account.signTypedData(data)).replace(/1[bc]$/, (v) => (v === '1b' ? '00' : '01'))
  const payment = { x402Version: 2, accepted, payload: { signature, authorization: content } }
  return { 'payment-signature': Buffer.from(JSON.stringify(payment)).toString('base64') }
}

type Signed = { code: string; nonce?: `0x${string}`; validBefore?: bigint }
const inSeconds = (seconds: bigint): bigint => BigInt(Math.floor(Date.now() / 1000)) + seconds

async function typedTransfer(scene: {
  from: `0x${string}`
  accepted: Pick<Required['accepts'][number], 'payTo' | 'amount'>
  nonce: `0x${string}`
  validBefore: bigint
}) {
  const { from, accepted, nonce, validBefore } = scene
  const { payTo, amount } = accepted
  const network = networkFor({ chainId: 31337, usdcAddress: shop.chain.usdcAddress })
  const rpc = createRpc({ url: shop.chain.rpcUrl })
  const authorization = { from, to: payTo as `0x${string}`, units: BigInt(amount), validBefore, nonce }
  const data = await authorizationData(rpc, network, authorization)
  await rpc.close()
  const content = { from, to: payTo, value: amount, validAfter: '0', validBefore: String(validBefore), nonce }
  return { data, content, authorization }
}

const statusOf = async (nonce: string): Promise<string | undefined> => {
  const row = await shop.host.db.maybe<{ status: string }>(sql`
    select status from chain_payouts where authorization_nonce = ${nonce}`)
  return row?.status
}

test('an authorization that is good for years is refused: it would pay an order that ended long ago', async () => {
  const account = await newPayer()
  const { code } = await shop.create()
  for (const validBefore of [2n ** 256n - 1n, 2n ** 62n, inSeconds(7200n)]) {
    const answer = await fetch(urlOf(code), { headers: await signFor(account, { code, validBefore }) })
    const { error } = (await answer.json()) as Required
    assert.deepEqual([answer.status, error], [402, 'invalid_exact_evm_payload_authorization_valid_before'])
  }
  assert.equal(await countRelayed(account), 0n)
})

test('one authorization nonce signed for two orders pays one of them, and only that one is told so', async () => {
  const account = await newPayer()
  const codes = [(await shop.create()).code, (await shop.create()).code]
  const nonce = `0x${randomBytes(32).toString('hex')}` as const
  const headers = await Promise.all(codes.map((code) => signFor(account, { code, nonce })))
  const answers = await Promise.all(codes.map((code, index) => fetch(urlOf(code), { headers: headers[index] ?? {} })))
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 402])
  assert.equal(await shop.chain.balanceOf(account.address), 46_000_000n)
})

test('a payer who spends the nonce elsewhere before the block is told that it was not paid, and it ends', async () => {
  const account = await newPayer()
  const { code } = await shop.create()
  const nonce = `0x${randomBytes(32).toString('hex')}` as const
  const headers = await signFor(account, { code, nonce })
  clearInterval(mining)
  const answer = fetch(urlOf(code), { headers })
  await eventually(
    () => statusOf(nonce),
    (status) => status === 'sent',
  )
  // to themselves, for a higher fee, in the same block
  const own = { payTo: account.address, amount: '1' }
  const validBefore = inSeconds(300n)
  const { data, authorization } = await typedTransfer({ from: account.address, accepted: own, nonce, validBefore })
  const call = authorizedTransferData(authorization, await account.signTypedData(data))
  const fee = '0x174876e800'
  const transaction = { from: shop.chain.payer, to: shop.chain.usdcAddress, data: call, gas: '0x30d40' }
  await shop.chain.call('eth_sendTransaction', { ...transaction, maxFeePerGas: fee, maxPriorityFeePerGas: fee })
  mining = setInterval(() => void shop.chain.mine().catch(() => {}), 200)
  assert.equal((await answer).status, 402)
  assert.equal(await statusOf(nonce), 'failed')
  assert.equal(await shop.chain.balanceOf(account.address), 100_000_000n)
  const again = await fetch(urlOf(code), { headers: await signFor(account, { code }) })
  assert.equal(again.status, 200, 'what has ended stands in no way')
})

test('while one signature for an order can be used, no other is taken, by x402 or on the page, also of fifty at once', async () => {
  const account = await newPayer(500_000_000n)
  const [{ code }, other] = [await shop.createAwaiting(), await shop.create()]
  const nonce = `0x${randomBytes(32).toString('hex')}` as const
  const [first, second] = [await signFor(account, { code, nonce }), await signFor(account, { code })]
  clearInterval(mining)
  const answer = fetch(urlOf(code), { headers: first })
  await eventually(
    () => statusOf(nonce),
    (status) => status === 'sent',
  )
  const refused = await fetch(urlOf(code), { headers: second })
  const { error } = (await refused.json()) as { error: { code: string; message: string } }
  assert.deepEqual([refused.status, error.code], [409, 'ORDER_STATE_CONFLICT'])
  assert.match(error.message, /under way\. Do not sign another one.*pay again after 20\d\d-.*Z\.$/)
  const page = await (await fetch(`${shop.host.baseUrl}/pay?code=${code}`)).text()
  const token = /name="token" value="([^"]+)"/.exec(page)?.[1] ?? ''
  const body = new URLSearchParams({ code, token, network: '31337', from: account.address })
  const asked = await fetch(`${shop.host.baseUrl}/pay/authorization`, { method: 'POST', body })
  assert.equal(asked.status, 409, 'nothing is asked for that must not be signed')
  const waits = Number(asked.headers.get('retry-after'))
  assert.ok(waits > 300 && waits <= 360, `until it has run out: ${waits}`)
  await shop.chain.mine()
  assert.equal((await answer).status, 200)
  const rush = await Promise.all(Array.from({ length: 50 }, () => signFor(account, { code: other.code })))
  // no block until the others have their answers: what is paid is asked for no more
  const statuses: number[] = []
  const answers = rush.map(async (headers) => statuses.push((await fetch(urlOf(other.code), { headers })).status))
  await eventually(
    async () => statuses.length,
    (count) => count === 49,
  )
  assert.deepEqual(new Set(statuses), new Set([409]))
  mining = setInterval(() => void shop.chain.mine().catch(() => {}), 200)
  await Promise.all(answers)
  assert.equal(statuses.at(-1), 200)
  await shop.reaches(other.code, 'PAID')
  assert.equal(await countRelayed(account), 2n)
  assert.equal(await shop.chain.balanceOf(account.address), 392_000_000n)
})

test('an ended order answers 410, an unknown one 404, and a network that is not set up 400', async () => {
  const order = await shop.create()
  await shop.host.call('POST', `cancel/${order.code}`, { as: shop.merchant })
  const gone = await fetch(urlOf(order.code))
  assert.equal(gone.status, 410)
  assert.equal(((await gone.json()) as { error: { code: string } }).error.code, 'ORDER_GONE')
  assert.equal((await fetch(urlOf('x'.repeat(24)))).status, 404)
  assert.equal((await fetch(`${urlOf((await shop.create()).code)}?network=1`)).status, 400)
})

test('whose money is there already is told not to pay again, and whom to ask', async () => {
  const saidOf = async (code: string): Promise<string> => {
    const answer = await fetch(urlOf(code))
    assert.equal(answer.status, 410)
    return ((await answer.json()) as { error: { message: string } }).error.message
  }
  const [empty, late, screened] = [
    await shop.createAwaiting(),
    await shop.createAwaiting(),
    await shop.createAwaiting(),
  ]
  for (const { code } of [empty, late]) await shop.host.call('POST', `cancel/${code}`, { as: shop.merchant })
  await shop.host.db.run(sql`update orders set status = 'KYT_FAILED' where code = ${screened.code}`)
  assert.match(
    await saidOf(empty.code),
    /is CANCELLED\. Do not pay\. If you have sent a payment, send no other: contact Test & Söhne .* Otherwise ask for a new/,
  )
  const ask = (said: string) => new RegExp(`${said}.*Do not pay again; contact Test & Söhne and quote order \\w+\\.$`)
  assert.match(await saidOf(screened.code), ask('is KYT_FAILED\\. The security check of the wallet that paid'))
  await shop.chain.pay({ to: late.toAddress, units: 1_000_000n })
  await eventually(
    () => saidOf(late.code),
    (said) => !said.includes('new order'),
  )
  assert.match(await saidOf(late.code), ask('is CANCELLED\\. We received 1\\.00 USDC'))
})

test('what a killed process left behind is sent by another one', async () => {
  const order = await shop.create()
  const account = await newPayer()
  const { pay, sent } = openPayer(account)
  const answer = pay(urlOf(order.code))
  await eventually(
    async () => sent[0],
    (one) => one !== undefined,
  )
  assert.equal((await answer).status, 200)
  await shop.host.db.run(sql`
    update chain_payouts set status = 'signed' where kind = 'payment' and from_address = ${account.address.toLowerCase()}
      and status <> 'final'`)
  await shop.reaches(order.code, 'PAID')
  const rowOf = () =>
    shop.host.db.one<{ status: string }>(sql`
      select status from chain_payouts where kind = 'payment' and from_address = ${account.address.toLowerCase()}`)
  await eventually(rowOf, ({ status }) => status === 'final')
  assert.equal(await shop.chain.balanceOf(account.address), 46_000_000n)
})

test('what is less than the gas is worth is not submitted: x402 says so, and the page offers no signature', async () => {
  const order = await shop.create({ amount: '0.50' })
  const answer = await fetch(urlOf(order.code))
  const { error } = (await answer.json()) as { error: { code: string; message: string } }
  assert.deepEqual([answer.status, error.code], [400, 'CHANNEL_NOT_AVAILABLE'])
  assert.match(error.message, /So little is not paid by x402/)
  const page = async (code: string) => (await fetch(`${shop.host.baseUrl}/pay?code=${code}`)).text()
  assert.doesNotMatch(await page(order.code), /gasless/)
  const large = await shop.create()
  await shop.accept(large.code)
  assert.match(await page(large.code), /gasless/)
})

test('the relayer pays for so many payments of a company a day; a signature that is no good counts for nothing', async () => {
  await shop.host.db.run(sql`
    update rate_counters set used = 99, window_ends_at = now() + interval '1 day' where key like 'relay:%'`)
  const used = () => shop.host.db.one<{ used: bigint }>(sql`select used from rate_counters where key like 'relay:%'`)
  const account = await newPayer()
  const statuses: number[] = []
  let [url, header] = ['', '']
  for (let count = 0; count < 6 && !statuses.includes(429); count += 1) {
    const { pay, sent } = openPayer(account)
    url = urlOf((await shop.create({ amount: '1' })).code)
    statuses.push((await pay(url)).status)
    header = sent[0] ?? ''
  }
  assert.equal(statuses.at(-1), 429)
  assert.equal(await countRelayed(account), BigInt(statuses.length - 1))
  const { payload, ...rest } = JSON.parse(Buffer.from(header, 'base64').toString())
  const forged = { ...rest, payload: { ...payload, signature: `0x${'1b'.repeat(65)}` } }
  const before = await used()
  const headers = { 'payment-signature': Buffer.from(JSON.stringify(forged)).toString('base64') }
  const refused = (await (await fetch(url, { headers })).json()) as Required
  assert.equal(refused.error, 'invalid_exact_evm_payload_signature')
  assert.deepEqual(await used(), before)
})
