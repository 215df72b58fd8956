import assert from 'node:assert/strict'
import { createHmac, createPrivateKey, sign } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import { pino } from 'pino'
import { openEndpoints } from '../src/chain/endpoints/endpoints.ts'
import { createRpc, type Rpc } from '../src/chain/endpoints/rpc.ts'
import { type Network, networkFor } from '../src/chain/networks.ts'
import { type Scanner, startScanner } from '../src/chain/scanner.ts'
import type { Channel, PaymentRequest } from '../src/channels/channel.ts'
import { coinbase } from '../src/channels/coinbase/adapter.ts'
import { openCryptoChannel } from '../src/channels/crypto/adapter.ts'
import { readSettings } from '../src/channels/kind.ts'
import { ProviderTrouble } from '../src/channels/provider-errors.ts'
import type { ProviderCall, ProviderHttp } from '../src/channels/provider-http.ts'
import { type Db, openDb } from '../src/db/db.ts'
import { CallbackRefused } from '../src/kernel/callback.ts'
import { parseMoney } from '../src/kernel/money.ts'
import { newTestXpub, startTestChain, type TestChain } from './harness/chain.ts'
import { createTestDatabase, type TestDatabase } from './harness/database.ts'
import { newRequest, type ProviderWorld, startProviderWorld } from './harness/providers.ts'

const XPUB = newTestXpub()

let database: TestDatabase
let db: Db
let chain: TestChain
let rpc: Rpc
let network: Network
let scanner: Scanner
let world: ProviderWorld
let wallet: Channel
let channel: Channel

const watchPayout = async () => null

before(async () => {
  database = await createTestDatabase()
  db = openDb({ connectionString: database.connectionString, max: 4 })
  chain = await startTestChain()
  rpc = createRpc({ url: chain.rpcUrl })
  network = networkFor({ chainId: chain.chainId, usdcAddress: chain.usdcAddress })
  scanner = startScanner({
    db,
    network,
    endpoints: openEndpoints(network, [rpc]),
    log: pino({ level: 'silent' }),
    pollMs: 0,
    onChange() {},
  })
  wallet = openCryptoChannel({
    db,
    clock: Date.now,
    payable: [{ network, rpc, xpub: XPUB, payouts: null, watchPayout }],
  })
  const { chainId, usdcAddress, payer: payerAddress } = chain
  const pay = async ({ to, amount }: { to: string; amount: string }) => ({
    txHash: await chain.pay({ to, units: parseMoney(amount, 'USDC').units }),
  })
  world = await startProviderWorld({ chain: { chainId, usdcAddress, payerAddress, pay } })
  channel = world.open(coinbase, { wallet })
})
after(async () => {
  await world?.stop()
  await scanner?.stop()
  await rpc?.close()
  await chain?.stop()
  await db?.close()
  await database?.drop()
})

const create = async (request: PaymentRequest = newRequest()) => {
  const instructions = await channel.createPayment(request)
  const { providerReference } = instructions
  return { request, instructions, id: providerReference, key: { ...request, providerReference } }
}
const newest = () => {
  const had = world.receiver.at('/api/next/channels/coinbase/callback').length
  return async (count: number) => (await world.callbacks('coinbase', had + count)).slice(had)
}
const look = async (key: Parameters<Channel['fetchPayment']>[0]) => {
  world.pass(15_000)
  await scanner.tick()
  return channel.fetchPayment(key)
}
const kept = async (id: string): Promise<Record<string, unknown>> =>
  (await fetch(`${world.providers.url}/payments/${id}`)).json() as Promise<Record<string, unknown>>

describe('the channel coinbase', () => {
  // docs.cdp.coinbase.com, onramp/create-an-onramp-session: a preset amount needs paymentCurrency
  it('sells to payers of orders in francs too', async () => {
    const inFrancs = (['CHF', 'XPF'] as const).map((asset) => create(newRequest({ fiat: { asset, units: 5000n } })))
    const made = await Promise.allSettled(inFrancs)
    assert.deepEqual(
      made.map(({ status }) => status),
      ['fulfilled', 'fulfilled'],
    )
  })

  it('sells USDC to a deposit address, waits, sees it on its way and final on the chain', async () => {
    const { instructions, id, key } = await create()
    assert.equal(instructions.toAddress, id)
    assert.deepEqual([instructions.tokenAmount, instructions.network], [null, chain.chainId])
    const waiting = await look(key)
    assert.ok(waiting.outcome === 'seen')
    assert.deepEqual([waiting.final, waiting.pending, waiting.providerStatus], [0n, 0n, 'Coinbase: no purchase yet'])
    const arrived = newest()
    assert.equal((await world.act(`/payments/${id}/pay`)).status, 200)
    const callbacks = await arrived(3)
    for (const callback of callbacks)
      assert.equal((await channel.readCallback?.(callback))?.merchantReference, key.merchantReference)
    const hint = await channel.fetchPayment(key)
    assert.ok(hint.outcome === 'seen')
    assert.deepEqual([hint.final, hint.pending, hint.providerStatus], [0n, 54_210_000n, 'Coinbase: SUCCESS'])
    const onChain = await look(key)
    assert.ok(onChain.outcome === 'seen')
    assert.deepEqual([onChain.final, onChain.pending, onChain.transfers.length], [0n, 54_210_000n, 1])
    await chain.mine(3)
    const final = await look(key)
    assert.ok(final.outcome === 'seen')
    assert.deepEqual([final.final, final.pending], [54_210_000n, 0n])
    const hashes = callbacks.map(({ rawBody }) => JSON.parse(rawBody.toString('utf8')).txHash)
    assert.deepEqual(hashes, ['0x', '0x', onChain.transfers[0]?.txHash])
  })

  it('says the payer’s public address and no private one', async () => {
    const ipOf = async (payerIp: string): Promise<unknown> => {
      const { id } = await create(newRequest({ payerIp }))
      return ((await kept(id)).facts as { clientIp: unknown }).clientIp
    }
    assert.deepEqual([await ipOf('10.0.0.7'), await ipOf('8.8.8.8')], [null, '8.8.8.8'])
  })

  it('makes a fresh link to the same address each time; a link opens once, for five minutes', async () => {
    const { request, instructions, id } = await create()
    const again = await channel.createPayment(request)
    assert.equal(again.providerReference, id)
    assert.notEqual(again.checkoutUrl, instructions.checkoutUrl)
    const open = async (url: string | null) => fetch(url ?? '', { redirect: 'manual' })
    const first = await open(instructions.checkoutUrl)
    assert.deepEqual([first.status, first.headers.get('location')], [302, `${world.providers.url}/payments/${id}`])
    assert.equal((await open(instructions.checkoutUrl)).status, 410)
    world.pass(300_000)
    assert.equal((await open(again.checkoutUrl)).status, 410)
    assert.equal((await open(`${world.providers.url}/coinbase/buy/select-asset?sessionToken=x`)).status, 404)
  })

  it('is repeated after a creation without an answer', async () => {
    const request = newRequest()
    await world.act('/stories/timeout-after-acceptance', { provider: 'coinbase' })
    await assert.rejects(channel.createPayment(request), ProviderTrouble)
    const { id } = await create(request)
    assert.equal((await kept(id)).merchantReference, request.merchantReference)
  })

  it('leaves out a return address that the account does not list', async () => {
    const { id } = await create(newRequest({ returnUrl: 'https://shop.invalid/thanks' }))
    assert.equal((await kept(id)).returnUrl, null)
    const { id: listed } = await create()
    assert.equal((await kept(listed)).returnUrl, 'https://shop.example/thanks')
  })

  it('lets the payer try again after a failure', async () => {
    const { id, key, request } = await create()
    const arrived = newest()
    await world.act(`/payments/${id}/fail`)
    const [failed] = await arrived(1)
    assert.ok(failed)
    assert.match((await channel.readCallback?.(failed))?.providerStatus ?? '', /failed: FAILED/)
    const report = await look(key)
    assert.ok(report.outcome === 'seen')
    assert.deepEqual([report.pending, report.providerStatus], [0n, 'Coinbase: FAILED (FAILURE_REASON_BUY_FAILED)'])
    await create(request)
    assert.equal((await world.act(`/payments/${id}/pay`)).status, 200)
    const paid = await look(key)
    assert.ok(paid.outcome === 'seen' && paid.pending === 54_210_000n)
  })

  it('reports the part that was bought', async () => {
    const { id, key } = await create()
    await world.act(`/payments/${id}/pay`, { amount: '20.5' })
    await chain.mine(3)
    const report = await look(key)
    assert.ok(report.outcome === 'seen' && report.final === 20_500_000n)
  })

  it('takes a word that nobody knows as none, and changes nothing while Coinbase is silent', async () => {
    await world.act('/stories/unknown-status', { provider: 'coinbase' })
    const { key } = await create()
    const report = await look(key)
    assert.ok(report.outcome === 'seen')
    assert.deepEqual([report.final, report.pending, report.providerStatus], [0n, 0n, 'Coinbase: ON_HOLD'])
    await world.act('/stories/outage', { provider: 'coinbase', seconds: 60 })
    assert.equal((await channel.fetchPayment(key)).outcome, 'seen')
    world.pass(15_000)
    assert.equal((await channel.fetchPayment(key)).outcome, 'unknown')
    world.pass(60_000)
  })

  it('refuses forged, changed and stale callbacks', async () => {
    await world.act('/stories/forged-callback', { provider: 'coinbase' })
    const forged = newest()
    const { id } = await create()
    const forgeries = await forged(3)
    for (const forgery of forgeries)
      await assert.rejects(Promise.resolve(channel.readCallback?.(forgery)), CallbackRefused)
    const arrived = newest()
    await world.act(`/payments/${id}/pay`)
    const [callback] = await arrived(3)
    assert.ok(callback && channel.readCallback)
    await channel.readCallback(callback)
    const changed = Buffer.from(callback.rawBody.toString('utf8').replace('54.21', '54.22'))
    await assert.rejects(channel.readCallback({ ...callback, rawBody: changed }), CallbackRefused)
    world.pass(301_000)
    await assert.rejects(channel.readCallback(callback), /too old/)
  })

  it('sends refunds as the wallet does', async () => {
    const { key } = await create()
    const usdc = (units: bigint) => ({ asset: 'USDC', units }) as const
    const refund = {
      refundId: 'b'.repeat(24),
      companyId: key.companyId,
      merchantReference: key.merchantReference,
      providerReference: key.providerReference,
      units: 1_000_000n,
      fiat: usdc(1_000_000n),
      paidUnits: 54_210_000n,
      paidFiat: usdc(54_210_000n),
      earlierUnits: 0n,
      earlierFiat: usdc(0n),
      reference: null,
      attempted: false,
      network: null,
      address: chain.payer,
      reason: null,
    }
    const own = await channel.refundPayment?.(refund)
    assert.equal(own?.outcome, 'manual')
    assert.deepEqual(own, await wallet.refundPayment?.({ ...refund, network: chain.chainId }))
    const asked = channel.checkRefundTransaction?.(refund, `0x${'0'.repeat(64)}`)
    await assert.rejects(Promise.resolve(asked), (error) => error instanceof Error && 'code' in error)
  })
})

describe('the channel coinbase at Coinbase itself', () => {
  const walletOn = (...chainIds: number[]): Channel => {
    const payable = chainIds.map((chainId) => {
      const on = networkFor({ chainId, usdcAddress: chain.usdcAddress })
      return { network: on, rpc, xpub: XPUB, payouts: null, watchPayout }
    })
    return openCryptoChannel({ db, clock: Date.now, payable })
  }
  /** In live, with what Coinbase would answer. */
  const openLive = (on: Channel | undefined, values: Record<string, string> = {}, text = '{"transactions":[]}') => {
    const { CHANNEL_COINBASE_KEY_ID = '', CHANNEL_COINBASE_KEY_SECRET = '' } = world.providers.credentials
    const keys = { KEY_ID: CHANNEL_COINBASE_KEY_ID, KEY_SECRET: CHANNEL_COINBASE_KEY_SECRET, WEBHOOK_SECRET: 'w' }
    const reading = readSettings(coinbase, { ...keys, ...values })
    assert.ok(reading.outcome === 'set')
    const calls: ProviderCall[] = []
    const http: ProviderHttp = async (call) => {
      calls.push(call)
      return { status: 200, headers: {}, text }
    }
    const live = coinbase.open(reading.values, { http, clock: world.now, live: true, ...(on ? { wallet: on } : {}) })
    return { live, calls }
  }

  it('is not opened without a chain that Coinbase delivers on', () => {
    assert.throws(() => openLive(undefined), /set up a chain/)
    assert.throws(() => openLive(walletOn(43114)), /set up a chain/)
    assert.throws(() => openLive(wallet), /set up a chain/)
    assert.throws(() => openLive(walletOn(8453), { NETWORK: '1' }), /set up here: 8453/)
    assert.deepEqual(openLive(walletOn(43114, 10, 1)).live.networks, [10])
    assert.deepEqual(openLive(walletOn(43114, 10, 1), { NETWORK: '1' }).live.networks, [1])
  })

  it('asks for a session without the mark of a simulation, and for no unreadable answer', async () => {
    const { live, calls } = openLive(walletOn(10), {}, '{"session":{"onrampUrl":"https://pay.coinbase.com/buy?x"}}')
    const request = newRequest({ payerIp: '8.8.8.8', returnUrl: null })
    const { toAddress, checkoutUrl, network: chainId } = await live.createPayment(request)
    assert.deepEqual([checkoutUrl, chainId], ['https://pay.coinbase.com/buy?x', 10])
    assert.equal(calls[0]?.url, 'https://api.cdp.coinbase.com/platform/v2/onramp/sessions')
    assert.deepEqual(JSON.parse(calls[0]?.body ?? ''), {
      purchaseCurrency: 'USDC',
      paymentCurrency: 'EUR',
      purchaseAmount: '54.210000',
      destinationNetwork: 'optimism',
      destinationAddress: toAddress,
      partnerUserRef: request.merchantReference,
      clientIp: '8.8.8.8',
    })
    await assert.rejects(openLive(walletOn(10)).live.createPayment(newRequest()), ProviderTrouble)
  })

  it('asks for transactions at the host that the base URL belongs to', async () => {
    const { key } = await create()
    const urlOf = async (values: Record<string, string>): Promise<string | undefined> => {
      const { live, calls } = openLive(walletOn(10), values)
      await live.fetchPayment(key)
      return calls[0]?.url
    }
    const path = `/onramp/v1/buy/user/${key.merchantReference}/transactions?page_size=50`
    assert.equal(await urlOf({}), `https://api.developer.coinbase.com${path}`)
    assert.equal(await urlOf({ BASE_URL: 'http://127.0.0.1:1/x' }), `http://127.0.0.1:1/x${path}`)
    const both = { BASE_URL: 'http://127.0.0.1:1/x', STATUS_BASE_URL: 'http://127.0.0.1:2/y' }
    assert.equal(await urlOf(both), `http://127.0.0.1:2/y${path}`)
  })
})

/* ---- requests that are not the adapter's ---- */

type Claims = Record<string, unknown>
const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')

/** A token as somebody might write it, right but for what is given. */
function token(uri: string, { header = {}, claims = {} }: { header?: Claims; claims?: Claims } = {}): string {
  const { CHANNEL_COINBASE_KEY_ID: id, CHANNEL_COINBASE_KEY_SECRET: secret = '' } = world.providers.credentials
  const bytes = Buffer.from(secret, 'base64')
  const [d, x] = [bytes.toString('base64url', 0, 32), bytes.toString('base64url', 32)] as const
  const key = createPrivateKey({ key: { kty: 'OKP', crv: 'Ed25519', d, x }, format: 'jwk' })
  const now = Math.floor(world.now() / 1000)
  const head = encode({ alg: 'EdDSA', kid: id, typ: 'JWT', nonce: 'ab'.repeat(16), ...header })
  const body = encode({ sub: id, iss: 'cdp', uris: [uri], iat: now, nbf: now, exp: now + 120, ...claims })
  const message = `${head}.${body}`
  const mac = () => createHmac('sha256', secret).update(message).digest()
  const signature = header.alg === 'HS256' ? mac() : sign(null, Buffer.from(message), key)
  return `${message}.${header.alg === 'none' ? '' : signature.toString('base64url')}`
}

const good = {
  purchaseCurrency: 'USDC',
  purchaseAmount: '10.00',
  paymentCurrency: 'EUR',
  destinationNetwork: 'base',
  destinationAddress: `0x${'7'.repeat(40)}`,
  partnerUserRef: 'sandbox-raw',
}
const sessionUri = (): string => `POST ${new URL(world.providers.url).host}/coinbase/platform/v2/onramp/sessions`
const post = async (body: object | string, bearer = token(sessionUri())) => {
  const answer = await fetch(`${world.providers.url}/coinbase/platform/v2/onramp/sessions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
  const { errorType } = (await answer.json()) as { errorType?: string }
  return [answer.status, errorType]
}

describe('the imitation of Coinbase', () => {
  it('refuses tokens for something else, too long, too old, of nobody, and unsigned', async () => {
    assert.deepEqual(await post(good), [201, undefined])
    const now = Math.floor(world.now() / 1000)
    const host = new URL(world.providers.url).host
    const bad = [
      token(`GET ${host}/coinbase/platform/v2/onramp/sessions`),
      token(`POST ${host}/coinbase/platform/v2/onramp/other`),
      token('POST api.cdp.coinbase.com/platform/v2/onramp/sessions'),
      token(sessionUri(), { claims: { uris: undefined, uri: sessionUri() } }),
      token(sessionUri(), { claims: { exp: now + 240 } }),
      token(sessionUri(), { claims: { iat: now - 200, nbf: now - 200, exp: now - 80 } }),
      token(sessionUri(), { claims: { nbf: now + 60 } }),
      token(sessionUri(), { claims: { iss: 'me' } }),
      token(sessionUri(), { claims: { sub: 'me' } }),
      token(sessionUri(), { header: { kid: 'me' } }),
      token(sessionUri(), { header: { nonce: undefined } }),
      token(sessionUri(), { header: { alg: 'none' } }),
      token(sessionUri(), { header: { alg: 'HS256' } }),
      `${token(sessionUri()).slice(0, -4)}AAAA`,
      '',
    ]
    for (const bearer of bad) assert.deepEqual(await post(good, bearer), [401, 'unauthorized'])
  })

  it('refuses sessions that are not right', async () => {
    const bad: (object | string)[] = [
      '{',
      { ...good, paymentAmount: '10.00' },
      { ...good, purchaseAmount: undefined },
      { ...good, purchaseAmount: 10 },
      { ...good, destinationAddress: undefined },
      { ...good, destinationAddress: '0x12' },
      { ...good, destinationNetwork: undefined },
      { ...good, destinationNetwork: 'sandbox' },
      { ...good, purchaseCurrency: undefined },
      { ...good, clientIp: '192.168.0.1' },
      { ...good, clientIp: '::1' },
      { ...good, partnerUserRef: 'a'.repeat(50) },
      { ...good, redirectUrl: 'shop' },
    ]
    for (const body of bad) assert.deepEqual(await post(body), [400, 'invalid_request'])
    assert.deepEqual(await post({ ...good, partnerUserRef: 'a'.repeat(49) }), [201, undefined])
  })

  it('tells transactions only with a token, by default one of them', async () => {
    const { id, key } = await create()
    await world.act(`/payments/${id}/pay`, { amount: '1' })
    await world.act(`/payments/${id}/pay`, { amount: '2' })
    const path = `/coinbase/onramp/v1/buy/user/sandbox-${key.merchantReference}/transactions`
    const uri = `GET ${new URL(world.providers.url).host}${path}`
    const ask = async (query: string, bearer: string) => {
      const headers = { authorization: `Bearer ${bearer}` }
      const answer = await fetch(world.providers.url + path + query, { headers })
      return answer.status === 200
        ? ((await answer.json()) as { transactions: unknown[] }).transactions.length
        : answer.status
    }
    assert.equal(await ask('', token(sessionUri())), 401)
    assert.equal(await ask('', token(uri)), 1)
    assert.equal(await ask('?page_size=10', token(uri)), 2)
    assert.equal(await ask('?pageSize=10&pageKey=1', token(uri)), 1)
  })
})
