import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { withServiceSettings } from '../src/commands/operator-chains.ts'
import { loadConfig } from '../src/config/config.ts'
import { openVault } from '../src/kernel/vault.ts'
import { startTestChain, type TestChain } from './harness/chain.ts'
import { createTestDatabase } from './harness/database.ts'
import { freePort } from './harness/free-port.ts'
import { newFolder } from './harness/installation.ts'
import { type Served, startServed } from './harness/served.ts'
import { callService, TEST_MASTER_KEY } from './harness/service.ts'
import { TEST_XPUB } from './harness/shop.ts'

/* The sandbox with a chain, or providers, that run elsewhere. */

type Facts = Record<'baseUrl' | 'apiKey' | 'apiSecret' | 'mailboxUrl', string> &
  Record<'providersUrl' | 'rpcUrl' | 'payerPrivateKey', string | null>

let chain: TestChain
const ends: (() => Promise<unknown>)[] = []
before(async () => {
  chain = await startTestChain()
})
after(async () => {
  for (const end of ends.reverse()) await end()
  await chain?.stop()
})

/** A sandbox with a database and a folder of its own, and what it tells its users. */
async function serveSandbox(settings: Record<string, string>): Promise<Facts & { folder: string }> {
  const [database, port, folder] = [await createTestDatabase(), await freePort(), newFolder()]
  ends.push(
    async () => folder.remove(),
    () => database.drop(),
  )
  const own = { DATABASE_URL: database.connectionString, DATA_DIR: folder.path, PORT: String(port), LOG_LEVEL: 'warn' }
  const served: Served = startServed({ ...own, ...settings })
  ends.push(() => served.end('SIGTERM'))
  await served.ready()
  const facts = JSON.parse(readFileSync(join(folder.path, 'sandbox.json'), 'utf8')) as Facts
  return { ...facts, folder: folder.path }
}

/** The status of accepting an order through each of these channels. */
async function acceptThrough({ baseUrl, apiKey, apiSecret }: Facts, channels: string[]): Promise<number[]> {
  const headers = { 'x-api-key': apiKey, 'x-api-secret': apiSecret }
  const statuses: number[] = []
  for (const paymentChannel of channels) {
    const body = { amount: '5', fromAsset: 'EUR', merchantIdentifier: 'TILL-1' }
    const created = await callService<{ code: string }>(baseUrl, 'POST', 'request', { headers, body })
    const accept = { headers, body: { paymentChannel } }
    statuses.push((await callService(baseUrl, 'POST', `accept/${created.data.code}`, accept)).status)
  }
  return statuses
}

test('a chain that is given replaces the sandbox’s own; providers, mailbox and demo shop are there as usual', async () => {
  const facts = await serveSandbox({ CHAIN_31337_RPC_URL: chain.rpcUrl, CHAIN_31337_USDC: chain.usdcAddress })
  assert.deepEqual([facts.rpcUrl, facts.payerPrivateKey], [chain.rpcUrl, null])
  assert.deepEqual(await acceptThrough(facts, ['gatepay', 'binance', 'crypto', 'coinbase']), [200, 200, 200, 400])
  assert.equal((await fetch(facts.mailboxUrl)).status, 200)
  const own = { CHAIN_31337_RPC_URL: chain.rpcUrl, CHAIN_31337_USDC: chain.usdcAddress, DATA_DIR: facts.folder }
  const vault = openVault(TEST_MASTER_KEY)
  const beside = await withServiceSettings(loadConfig(own), { ...vault, deriveSandbox: vault.derive })
  const known = [beside.provider.CHANNEL_GATEPAY_BASE_URL, beside.chains[0]?.rpcUrls[0]]
  assert.deepEqual(known, [`${facts.providersUrl}/gatepay`, chain.rpcUrl], 'a command beside it asks the same')
  const wallet = await fetch(`${facts.providersUrl}/wallet/pay`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ to: `0x${'1'.repeat(40)}`, amount: '1' }),
  })
  assert.equal(wallet.status, 409)
  assert.match(await wallet.text(), /no test wallet: CHAIN_31337_RPC_URL names a chain of yours/)
  const { providersUrl } = facts
  const second = await serveSandbox({ SANDBOX_PROVIDERS_URL: providersUrl ?? '' })
  assert.deepEqual([second.providersUrl, second.rpcUrl], [providersUrl, null], 'it starts no sandbox of its own')
  assert.deepEqual(await acceptThrough(second, ['gatepay']), [200])
})

test('with a test network the sandbox imitates no provider, as its image could not; the service runs', async () => {
  const network = { CHAIN_84532_RPC_URL: 'http://127.0.0.1:9', CHAIN_84532_USDC: chain.usdcAddress }
  const facts = await serveSandbox({ ...network, CHAIN_84532_XPUB: TEST_XPUB })
  assert.deepEqual([facts.providersUrl, facts.payerPrivateKey], [null, null])
  assert.equal((await fetch(`${facts.baseUrl}/readyz`)).status, 200)
  assert.deepEqual(await acceptThrough(facts, ['gatepay']), [400])
})
