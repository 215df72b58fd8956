import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { openRpcClient } from '../sandbox/chain/rpc.ts'
import { deploySanctionsOracle, type SanctionsOracle } from '../sandbox/chain/sanctions-oracle.ts'
import { startTestChain, type TestChain } from './harness/chain.ts'
import { type ImitationWorld, startImitations } from './harness/imitation.ts'

/* The screening services and the oracle against their documentation; no adapter of ours takes part. */
let chain: TestChain
let oracle: SanctionsOracle
let world: ImitationWorld
before(async () => {
  chain = await startTestChain()
  oracle = await deploySanctionsOracle(chain.rpcUrl)
  const wallet = {
    chainId: chain.chainId,
    usdcAddress: chain.usdcAddress,
    payerAddress: chain.payer,
    pay: async () => ({ txHash: '0x' }),
  }
  world = await startImitations({ chain: wallet, oracle })
})
after(async () => {
  await world?.stop()
  await chain?.stop()
})

let nth = 0
/** An address that no test has used. */
const fresh = (ending = '0000'): string => {
  nth += 1
  return `0x${nth.toString(16).padStart(36, 'e')}${ending}`
}

const sanctions = (address: string, key = world.credential('KYT_CHAINALYSIS_API_KEY')) =>
  fetch(`${world.credential('KYT_CHAINALYSIS_BASE_URL')}/address/${address}`, {
    headers: { accept: 'application/json', ...(key === '' ? {} : { 'x-api-key': key }) },
  })
const listed = async (address: string): Promise<number> =>
  ((await (await sanctions(address)).json()) as { identifications: unknown[] }).identifications.length

const risk = (path: string, init: RequestInit = {}, token = world.credential('KYT_CHAINALYSIS_RISK_TOKEN')) =>
  fetch(`${world.credential('KYT_CHAINALYSIS_RISK_BASE_URL')}/api/risk/v2/entities${path}`, {
    ...init,
    headers: { token, 'content-type': 'application/json' },
  })
const register = (address: string) => risk('', { method: 'POST', body: JSON.stringify({ address }) })

type TrmItem = { address: string; addressRiskIndicators: { riskType: string; categoryRiskScoreLevel: number }[] }
const trm = (items: unknown, key = world.credential('KYT_TRM_API_KEY')) =>
  fetch(`${world.credential('KYT_TRM_BASE_URL')}/public/v2/screening/addresses`, {
    method: 'POST',
    headers: { authorization: `Basic ${btoa(`${key}:${key}`)}`, 'content-type': 'application/json' },
    body: JSON.stringify(items),
  })
const ask = (address: string) => [{ address, chain: 'ethereum', accountExternalId: 'order-1' }]

const onChain = async (address: string): Promise<string> => {
  const data = `0xdf592f7d${address.slice(2).toLowerCase().padStart(64, '0')}`
  return openRpcClient(chain.rpcUrl)('eth_call', { to: oracle.address, data }, 'latest')
}
const word = (bit: 0 | 1): string => `0x${String(bit).padStart(64, '0')}`

test('the sanctions API wants its key and answers identifications, empty when an address is not listed', async () => {
  assert.equal((await sanctions(fresh(), '')).status, 403)
  assert.equal((await sanctions(fresh(), 'wrong')).status, 403)
  assert.equal(await listed(fresh()), 0)
  assert.equal(await listed('1JHdQHkBZiim1cb4hyUh2PbzEbbg6z2Trf'), 1)
  assert.equal(await listed(fresh('bad1')), 1)
})

test('Address Screening knows only registered addresses, and grades them', async () => {
  const address = fresh()
  assert.equal((await risk(`/${address}`)).status, 404)
  assert.equal((await register(address)).status, 201)
  const clean = (await (await risk(`/${address}`)).json()) as { address: string; risk: string; cluster: unknown }
  assert.deepEqual([clean.address, clean.risk, clean.cluster], [address, 'Low', null])
  const severe = fresh('bad2')
  await register(severe)
  assert.equal(((await (await risk(`/${severe}`)).json()) as { risk: string }).risk, 'Severe')
  const refused = await risk(`/${address}`, {}, 'wrong')
  const error = (await refused.json()) as Record<string, unknown>
  assert.equal(refused.status, 403)
  assert.deepEqual(Object.keys(error), ['timestamp', 'path', 'status', 'error', 'requestId', 'message'])
})

test('TRM answers 201 with an array in another order, and names the kind and level of each risk', async () => {
  const [clean, owned] = [fresh(), fresh('bad1')]
  const answer = await trm([...ask(clean), ...ask(owned)])
  assert.equal(answer.status, 201)
  const items = (await answer.json()) as TrmItem[]
  assert.deepEqual(
    items.map(({ address }) => address),
    [owned, clean],
  )
  const [indicator] = items[0]?.addressRiskIndicators ?? []
  assert.deepEqual([indicator?.riskType, indicator?.categoryRiskScoreLevel], ['OWNERSHIP', 15])
  assert.deepEqual(items[1]?.addressRiskIndicators, [])
  assert.equal((await trm(ask(clean), 'wrong')).status, 401)
  assert.equal((await trm([{ address: clean, chain: 'comptoir' }])).status, 400)
  assert.equal((await trm({ address: clean, chain: 'ethereum' })).status, 400)
})

test('the oracle answers isSanctioned by eth_call, and only its owner changes the list', async () => {
  const address = fresh()
  assert.equal(await onChain(address), word(0))
  await world.post(`/screening/addresses/${address}`, { oracle: true })
  assert.equal(await onChain(address), word(1))
  await world.post(`/screening/addresses/${address}/clear`)
  assert.equal(await onChain(address), word(0))
  assert.equal(await onChain(fresh('bad1')), word(1))
  const add = { from: chain.payer, to: oracle.address, data: `0xb972dfcc${'20'.padStart(64, '0')}${'0'.repeat(64)}` }
  await assert.rejects(openRpcClient(chain.rpcUrl)('eth_call', add, 'latest'), /not the owner/)
})

test('one source alone can list an address', async () => {
  const address = fresh()
  await world.post(`/screening/addresses/${address}`, { trm: { riskType: 'COUNTERPARTY', level: 10 } })
  const [item] = (await (await trm(ask(address))).json()) as TrmItem[]
  assert.equal(item?.addressRiskIndicators[0]?.riskType, 'COUNTERPARTY')
  assert.deepEqual([await listed(address), await onChain(address)], [0, word(0)])
  const wrong = await world.post(`/screening/addresses/${address}`, { risk: 'Terrible' })
  assert.equal(wrong.status, 422)
})

test('each service fails as asked: 5xx, 403 as a page, 429, a page with 200, an answer without its fields', async () => {
  const address = fresh()
  const seen = async (fault: string): Promise<[number, string | null, string]> => {
    assert.equal((await world.post('/screening/faults/sanctions', { fault })).status, 200)
    const answer = await sanctions(address)
    return [answer.status, answer.headers.get('content-type'), (await answer.text()).slice(0, 9)]
  }
  const json = 'application/json; charset=utf-8'
  assert.deepEqual((await seen('503')).slice(0, 2), [503, json])
  assert.deepEqual((await seen('500')).slice(0, 2), [500, json])
  assert.deepEqual((await seen('403')).slice(0, 2), [403, json])
  assert.deepEqual(await seen('html-403'), [403, 'text/html', '<!doctype'])
  assert.deepEqual(await seen('html'), [200, 'text/html', '<!doctype'])
  assert.deepEqual((await seen('429')).slice(0, 2), [429, json])
  assert.deepEqual(await seen('empty'), [200, json, '{}'])
  assert.deepEqual(await seen('list'), [200, json, '[]'])
  await world.post('/screening/faults/sanctions', { fault: null })
  assert.equal(await listed(address), 0)
  assert.equal((await world.post('/screening/faults/sanctions', { fault: 'sulks' })).status, 422)
})

test('a fault with seconds ends by itself; endings of addresses fail without a call here', async () => {
  await world.story('kyt-outage', { seconds: 10 })
  assert.deepEqual([(await sanctions(fresh())).status, (await trm(ask(fresh()))).status], [503, 503])
  world.pass(10_001)
  assert.deepEqual([(await sanctions(fresh())).status, (await trm(ask(fresh()))).status], [200, 201])
  assert.deepEqual([(await sanctions(fresh('0503'))).status, (await trm(ask(fresh('0503')))).status], [503, 503])
  const page = await sanctions(fresh('0403'))
  assert.deepEqual([page.status, page.headers.get('content-type')], [403, 'text/html'])
})

test('a faulty oracle answers 0x, as a chain without the contract does, or reverts', async () => {
  await world.post('/screening/faults/oracle', { fault: 'empty' })
  assert.equal(await onChain(fresh('bad1')), '0x')
  await world.post('/screening/faults/oracle', { fault: '503' })
  await assert.rejects(onChain(fresh()), /out of order/)
  await world.post('/screening/reset')
  assert.equal(await onChain(fresh('bad1')), word(1))
})

test('the story kyt-sanctioned lists the payer’s wallet everywhere, until the reset', async () => {
  await world.story('kyt-sanctioned')
  assert.deepEqual([await listed(chain.payer), await onChain(chain.payer)], [1, word(1)])
  await world.post('/screening/reset')
  assert.deepEqual([await listed(chain.payer), await onChain(chain.payer)], [0, word(0)])
})

test('a person sees the page, and sanctions an address with its form', async () => {
  const address = fresh()
  const form = await fetch(`${world.url}/screening/addresses`, {
    method: 'POST',
    headers: { accept: 'text/html' },
    body: new URLSearchParams({ address, sanctioned: 'true' }),
    redirect: 'manual',
  })
  assert.deepEqual([form.status, form.headers.get('location')], [303, '/screening'])
  const html = await (await fetch(`${world.url}/screening`, { headers: { accept: 'text/html' } })).text()
  assert.ok(html.includes(address))
  assert.equal(await listed(address), 1)
})

test('who is listed survives a restart of the sandbox', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'comptoir-screening-'))
  const [address, file] = [fresh(), join(folder, 'providers.json')]
  const first = await startImitations({ oracle, file })
  await first.post(`/screening/addresses/${address}`, { sanctioned: true })
  await first.post('/screening/faults/oracle', { fault: 'empty' })
  await first.stop()
  const second = await startImitations({ oracle, file })
  const seen = (await (await fetch(`${second.url}/screening`)).json()) as {
    addresses: Record<string, { risk: string }>
    faults: Record<string, string | null>
  }
  assert.deepEqual([seen.addresses[address]?.risk, seen.faults.oracle], ['Severe', 'empty'])
  await second.post('/screening/reset')
  await second.stop()
  rmSync(folder, { recursive: true })
  assert.equal(await onChain(address), word(0))
})
