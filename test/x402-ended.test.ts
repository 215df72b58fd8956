import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, beforeEach, test } from 'node:test'
import { privateKeyToAccount } from 'viem/accounts'
import { mint } from '../sandbox/chain/token.ts'
import { type Providers, startProviders } from '../sandbox/providers/server.ts'
import { createRpc } from '../src/chain/endpoints/rpc.ts'
import { networkFor } from '../src/chain/networks.ts'
import { authorizationData } from '../src/chain/payout/usdc-token.ts'
import { sql } from '../src/db/db.ts'
import { payoutEnv } from './harness/refunds.ts'
import { eventually } from './harness/service.ts'
import { openShop, type Shop } from './harness/shop.ts'

/* The relayer waits while gas is dear, and its payer's order goes on without it. */

const START_UNITS = 100_000_000n

let providers: Providers
let shop: Shop

before(async () => {
  shop = await openShop({
    env: async (chain) => {
      const pay = () => Promise.reject(new Error('these orders are paid on the chain'))
      const wallet = { chainId: chain.chainId, usdcAddress: chain.usdcAddress, payerAddress: chain.payer, pay }
      providers = await startProviders({ port: 0, chain: wallet, callbackBase: 'http://127.0.0.1:9' })
      const gatePay = Object.entries(providers.credentials).filter(([name]) => name.startsWith('CHANNEL_GATEPAY'))
      const limits = { CHAIN_31337_RELAY_MIN: '1', CHAIN_31337_MAX_FEE_GWEI: '50' }
      return { ...(await payoutEnv(chain)), ...Object.fromEntries(gatePay), ...limits }
    },
  })
})
after(async () => {
  await shop?.stop()
  await providers?.stop()
})

/** @param gwei what gas costs in the block that is mined, and in those after it */
async function setGasPrice(gwei: bigint): Promise<void> {
  await shop.chain.call('anvil_setNextBlockBaseFeePerGas', `0x${(gwei * 10n ** 9n).toString(16)}`)
  await shop.chain.mine()
}
beforeEach(() => setGasPrice(500n))

type Signed = { code: string; toAddress: string; units: bigint }

/** Signs for an order, and hands it in; nobody waits for the answer. */
async function handIn({ code, toAddress, units }: Signed) {
  const account = privateKeyToAccount(`0x${randomBytes(32).toString('hex')}`)
  await mint(shop.chain.call, account.address, START_UNITS)
  const network = networkFor({ chainId: 31337, usdcAddress: shop.chain.usdcAddress })
  const rpc = createRpc({ url: shop.chain.rpcUrl })
  const nonce = `0x${randomBytes(32).toString('hex')}` as const
  const validBefore = BigInt(Math.floor(Date.now() / 1000) + 600)
  const transfer = { from: account.address, to: toAddress as `0x${string}`, units, validBefore, nonce }
  const signature = await account.signTypedData(await authorizationData(rpc, network, transfer))
  await rpc.close()
  const page = await (await fetch(`${shop.host.baseUrl}/pay?code=${code}`)).text()
  const token = /name="token" value="([^"]+)"/.exec(page)?.[1] ?? ''
  const named = { code, token, network: '31337', from: account.address, value: String(units) }
  const body = new URLSearchParams({ ...named, validBefore: String(validBefore), nonce, signature })
  const answer = fetch(`${shop.host.baseUrl}/pay/authorization/submit`, { method: 'POST', body })
    .then((said) => said.json())
    .catch(() => undefined)
  const look = () =>
    shop.host.db.maybe<{ status: string; words: string; signature: string | null }>(sql`
      select status, words, signature from chain_payouts where authorization_nonce = ${nonce}`)
  const reaches = (status: string) => eventually(look, (row) => row?.status === status)
  const isUncharged = async () => assert.equal(await shop.chain.balanceOf(account.address), START_UNITS)
  return { answer, look, reaches, isUncharged }
}

/** It was handed in, and waits for cheaper gas. */
async function handInWaiting(order: Signed) {
  const signed = await handIn(order)
  await eventually(signed.look, (row) => row?.words.includes('gwei') === true)
  return signed
}

/** The relayer would submit it now. */
async function offerCheapGas(): Promise<void> {
  await setGasPrice(1n)
  for (let block = 0; block < 3; block += 1) {
    await new Promise((resolve) => setTimeout(resolve, 1_000))
    await shop.chain.mine()
  }
}

const END = { status: 'failed', signature: null }
const endOf = async ({ look }: Awaited<ReturnType<typeof handIn>>) => {
  const { status, signature } = (await look()) ?? {}
  return { status, signature }
}

test('what a payer signed and what was never submitted ends with the cancelled order', async () => {
  const order = await shop.createAwaiting()
  const signed = await handInWaiting(order)
  const { status } = await shop.host.call('POST', `cancel/${order.code}`, { as: shop.merchant })
  assert.equal(status, 200)
  assert.deepEqual(await endOf(signed), END)
  await offerCheapGas()
  await signed.isUncharged()
  assert.deepEqual(await signed.answer, { outcome: 'refused', txHash: null })
})

test('it ends when another channel is accepted', async () => {
  const order = await shop.createAwaiting()
  const signed = await handInWaiting(order)
  const { status, text } = await shop.accept(order.code, { paymentChannel: 'gatepay' })
  assert.equal(status, 200, text)
  assert.deepEqual(await endOf(signed), END)
  await offerCheapGas()
  await signed.isUncharged()
})

test('it is not submitted once the order is paid another way, in whole or in part, or has expired', async () => {
  const [whole, part, late] = [await shop.createAwaiting(), await shop.createAwaiting(), await shop.createAwaiting()]
  const all = [await handInWaiting(whole), await handInWaiting(part), await handInWaiting(late)]
  await shop.chain.pay({ to: whole.toAddress, units: whole.units })
  await shop.chain.pay({ to: part.toAddress, units: 1_000_000n })
  await shop.host.call('POST', `expire/${late.code}`, { as: shop.merchant })
  for (const signed of all) await signed.reaches('failed')
  await offerCheapGas()
  for (const signed of all) {
    await signed.isUncharged()
    assert.deepEqual(await endOf(signed), END)
  }
  await shop.reaches(whole.code, 'PAID')
})

test('while it may be on its way, the order is neither cancelled nor paid through another channel', async () => {
  const order = await shop.createAwaiting()
  await setGasPrice(1n)
  const signed = await handIn(order)
  await signed.reaches('sent')
  const cancelled = await shop.host.call('POST', `cancel/${order.code}`, { as: shop.merchant })
  const expired = await shop.host.call('POST', `expire/${order.code}`, { as: shop.merchant })
  const accepted = await shop.accept(order.code, { paymentChannel: 'gatepay' })
  for (const { status, text } of [cancelled, expired, accepted]) {
    assert.equal(status, 409, text)
    assert.match(text, /on its way; it cannot be stopped any more/)
  }
  await shop.chain.mine(3)
  await shop.reaches(order.code, 'PAID')
  assert.equal(((await signed.answer) as { outcome: string }).outcome, 'done')
})
