import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, test } from 'node:test'
import { x402Client } from '@x402/core/client'
import { ExactEvmScheme } from '@x402/evm/exact/client'
import { wrapFetchWithPayment } from '@x402/fetch'
import { privateKeyToAccount } from 'viem/accounts'
import { getAddress } from 'viem/utils'
import { mint } from '../sandbox/chain/token.ts'
import { localSigner } from '../src/chain/payout/signer.ts'
import { sql } from '../src/db/db.ts'
import { isStillDue } from '../src/payments/accept/still-due.ts'
import { type Client, logIn, registerManager } from './harness/accounts.ts'
import { newTestXpub, startTestChain, type TestChain } from './harness/chain.ts'
import { type Instructions, type OrderData, openShop, type Shop, TEST_XPUB } from './harness/shop.ts'

/*
 * Three chains, and a relayer on Base alone. The operator's addresses come from one key on Base and the local chain,
 * and from another one on the third.
 */

const LOCAL = 31337
const BASE = 8453
const OTHER = 137

let shop: Shop
let base: TestChain
let other: TestChain
let mining: NodeJS.Timeout
const payer = privateKeyToAccount(`0x${randomBytes(32).toString('hex')}`)

before(async () => {
  ;[base, other] = await Promise.all([startTestChain(), startTestChain()])
  // the node signs for its own accounts under its first id only
  await mint(base.call, payer.address, 100_000_000n)
  await base.call('anvil_setChainId', BASE)
  await other.call('anvil_setChainId', OTHER)
  const relayerKey = `0x${randomBytes(32).toString('hex')}`
  await base.call('anvil_setBalance', localSigner(relayerKey).address, '0x56bc75e2d63100000')
  const settingsOf = (id: number, { rpcUrl, usdcAddress }: TestChain, xpub: string) => ({
    ...{ [`CHAIN_${id}_RPC_URL`]: rpcUrl, [`CHAIN_${id}_USDC`]: usdcAddress, [`CHAIN_${id}_XPUB`]: xpub },
  })
  const env = async () => ({
    ...{ ...settingsOf(BASE, base, TEST_XPUB), CHAIN_8453_RELAYER_KEY: relayerKey },
    ...settingsOf(OTHER, other, newTestXpub()),
  })
  shop = await openShop({ env })
  mining = setInterval(() => void base.mine().catch(() => {}), 200)
})
after(async () => {
  clearInterval(mining)
  await shop?.stop()
  await Promise.all([base?.stop(), other?.stop()])
})

const urlOf = (code: string, network?: number): string =>
  `${shop.host.baseUrl}/pay/x402/${code}${network === undefined ? '' : `?network=${network}`}`

type Answer = { accepts?: { network: string; payTo: string }[]; error: { code: string; message: string } }

const ask = async (code: string, network?: number): Promise<Answer & { status: number }> => {
  const answer = await fetch(urlOf(code, network))
  return { status: answer.status, ...((await answer.json()) as Answer) }
}

/** Nothing is asked for, and no other chain is named. */
async function isRefused(code: string, say: RegExp): Promise<void> {
  for (const network of [undefined, BASE]) {
    const { status, accepts, error } = await ask(code, network)
    assert.deepEqual([status, error.code, accepts], [400, 'CHANNEL_NOT_AVAILABLE', undefined])
    assert.match(error.message, say)
    assert.doesNotMatch(error.message, /\bBase\b|8453|\?network=/)
  }
}

/** A shop whose own wallet is a contract: it exists on one chain only. */
async function openSafe(networks: string) {
  const person = await registerManager(shop.host.baseUrl)
  const manager: Client = await logIn(shop.host.baseUrl, person.email)
  const { data } = await manager.get<{ collectors: { identifier: string }[] }>('collectors/list')
  const safe = getAddress(`0x${randomBytes(20).toString('hex')}`)
  const save = async (NETWORKS: string): Promise<void> => {
    const settings = { MODE: 'static', ADDRESSES: safe, NETWORKS }
    const saved = await manager.call('PUT', 'channel-accounts/crypto', { settings })
    assert.equal(saved.status, 200, saved.text)
  }
  await save(networks)
  return {
    ...{ manager, safe, save },
    async create(): Promise<string> {
      const body = { amount: 50, fromAsset: 'EUR', merchantIdentifier: data.collectors[0]?.identifier }
      return (await manager.post<{ order: OrderData }>('confirm_conversion/request', body)).data.order.code
    },
    async accept(code: string, network: number): Promise<string> {
      const body = { paymentChannel: 'crypto', network }
      const answer = await manager.post<Instructions>(`confirm_conversion/accept/${code}`, body)
      assert.equal(answer.data?.status, 'AWAITING', answer.text)
      return answer.data.toAddress
    },
  }
}

const networkOf = (code: string) =>
  shop.host.db.one<{ status: string; networks: number[] }>(sql`
    select o.status, array(select network from payments p where p.order_id = o.id order by number) as networks
    from orders o where o.code = ${code}`)

test('a wallet of one chain without a relayer is paid on no other one: nothing is asked for, and none is named', async () => {
  const { safe, create, accept } = await openSafe(String(LOCAL))
  const code = await create()
  assert.equal(await accept(code, LOCAL), safe)
  await isRefused(code, /Do not pay on another network: the address of this order may not be the shop’s there\./)
  assert.deepEqual(await networkOf(code), { status: 'AWAITING', networks: [LOCAL] })
  const fresh = await create()
  await isRefused(fresh, /not set up on the networks that the shop takes/)
  assert.equal((await networkOf(fresh)).status, 'INITIAL')
})

test('a wallet of two chains, chosen on the one without a relayer, is paid on the other one', async () => {
  const { safe, create, accept } = await openSafe(`${LOCAL}, ${BASE}`)
  const code = await create()
  await accept(code, LOCAL)
  for (const network of [undefined, BASE]) {
    const { status, accepts } = await ask(code, network)
    assert.equal(status, 402)
    assert.deepEqual(
      accepts?.map((one) => [one.network, one.payTo]),
      [[`eip155:${BASE}`, safe]],
    )
  }
})

test('a network that the wallet names after the order got its address does not count for it: none is paid there', async () => {
  const { safe, save, create, accept } = await openSafe(String(LOCAL))
  const code = await create()
  await accept(code, LOCAL)
  await save(`${LOCAL}, ${BASE}`)
  await isRefused(code, /Do not pay on another network/)
  const { db } = shop.host
  const { id } = await db.one<{ id: string }>(sql`select id from orders where code = ${code}`)
  const isDueOn = (chainId: number) =>
    db.tx((tx) => isStillDue(tx, { reference: id, chainId, to: safe, units: 54_000_000n }))
  assert.deepEqual([await isDueOn(LOCAL), await isDueOn(BASE)], [true, false])
})

test('an address of the operator’s key is paid where that key makes the addresses, and not where another one does', async () => {
  const elsewhere = await shop.create()
  await shop.accept(elsewhere.code, { network: OTHER })
  await isRefused(elsewhere.code, /Do not pay on another network/)
  const { code } = await shop.create()
  const { data } = await shop.accept(code, { network: LOCAL })
  const client = new x402Client().register(`eip155:${BASE}`, new ExactEvmScheme(payer)).setSpendControls(false)
  const answer = await wrapFetchWithPayment(fetch, client)(urlOf(code))
  assert.equal(answer.status, 200, await answer.text())
  assert.equal(await base.balanceOf(data.toAddress), 54_000_000n)
  await shop.reaches(code, 'PAID')
})
