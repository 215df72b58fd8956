import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import type { ProviderAnswer, ProviderCall } from '../../channels/provider-http.ts'
import { SECOND } from '../../kernel/clock.ts'
import { acceptedWith, isAccepted } from '../doubts.ts'
import { type Answer, type ScreeningSource, worstOf } from '../screening.ts'
import { openAddressRisk } from './address-risk.ts'
import { openDenyList } from './deny-list.ts'
import { openOracle } from './oracle.ts'
import { openSanctionsApi } from './sanctions-api.ts'
import { superviseSource } from './supervised.ts'
import { openTrm } from './trm.ts'

/* Documented answers (reference: docs/screening.md), and everything that is no valid answer. */
const ADDRESS = '0x8ba1f109551bd432803012645ac136ddd64dba72'
const CHECKSUM = '0x8ba1f109551bD432803012645Ac136ddd64DBA72'
const asked: ProviderCall[] = []
const answering =
  (status: number, body: unknown) =>
  async (call: ProviderCall): Promise<ProviderAnswer> => {
    asked.push(call)
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    return { status: call.method === 'POST' && call.url.endsWith('/entities') ? 201 : status, headers: {}, text }
  }
const ask = (source: ScreeningSource, network = 8453): Promise<Answer> =>
  superviseSource(source, Date.now).screen({ network, address: ADDRESS })
const sanctions = (status: number, body: unknown) =>
  ask(openSanctionsApi({ http: answering(status, body), baseUrl: 'https://s.example/api/v1', apiKey: 'key' }))
const risk = (status: number, body: unknown) =>
  ask(openAddressRisk({ http: answering(status, body), baseUrl: 'https://r.example', token: 'token' }))
const trm = (status: number, body: unknown, network = 8453) =>
  ask(openTrm({ http: answering(status, body), baseUrl: 'https://t.example', apiKey: 'key' }), network)
const oracle = (...words: unknown[]) => ask(openOracle([{ chainId: 1, contract: '0x1', read: async () => words }]))

test('the worst answer counts, and without any answer nothing is clean', () => {
  assert.equal(worstOf(['clean', 'hold', 'unavailable', 'blocked']), 'blocked')
  assert.equal(worstOf(['clean', 'hold', 'unavailable']), 'unavailable')
  assert.equal(worstOf(['clean', 'hold']), 'hold')
  assert.equal(worstOf(['clean', 'clean']), 'clean')
  assert.equal(worstOf([]), 'unavailable')
})

test('an outage, a refusal, a page or an answer without its fields is unavailable from every source', async () => {
  const page = '<!doctype html><h1>403 Forbidden</h1>'
  const answers: [number, unknown][] = [
    ...[500, 502, 503, 403, 429, 401, 404].map((status): [number, unknown] => [status, { message: 'no' }]),
    ...[200, 403].map((status): [number, unknown] => [status, page]),
    ...['{}', '[]', 'null', '"Low"', '0x', ''].map((text): [number, unknown] => [200, text]),
  ]
  for (const [status, body] of answers)
    for (const [name, source] of Object.entries({ sanctions, risk, trm }))
      assert.equal((await source(status, body)).verdict, 'unavailable', `${name}: ${status} ${JSON.stringify(body)}`)
  for (const word of ['0x', null, `0x${'0'.repeat(63)}2`, '0x1', undefined])
    assert.equal((await oracle(word)).verdict, 'unavailable', `oracle: ${word}`)
  assert.equal((await oracle()).verdict, 'unavailable')
})

test('the public sanctions API: an empty list is clean, any identification blocks', async () => {
  assert.equal((await sanctions(200, { identifications: [] })).verdict, 'clean')
  const listed = await sanctions(200, { identifications: [{ category: 'sanctions', name: 'OFAC SDN Someone' }] })
  assert.deepEqual([listed.verdict, listed.reasons], ['blocked', ['OFAC SDN Someone']])
  assert.equal(asked.at(-1)?.url, `https://s.example/api/v1/address/${CHECKSUM}`)
  assert.equal(asked.at(-1)?.headers['X-API-Key'], 'key')
})

test('Address Screening: Severe and High block, Medium is for a person, Low passes, a new word is no answer', async () => {
  const verdictOf = async (word: unknown): Promise<string> =>
    (await risk(200, { address: CHECKSUM, risk: word })).verdict
  assert.deepEqual(await Promise.all(['Severe', 'High', 'Medium', 'Low', 'Unknown', null].map(verdictOf)), [
    'blocked',
    'blocked',
    'hold',
    'clean',
    'unavailable',
    'unavailable',
  ])
  assert.equal((await risk(200, { address: '0x01', risk: 'Low' })).verdict, 'unavailable', 'of another address')
})

test('TRM: own risk blocks, that of counterparties is for a person, the rest passes', async () => {
  const item = (riskType: string | undefined, level: unknown) => ({
    ...{ address: CHECKSUM, entities: [] },
    addressRiskIndicators: [{ category: 'Sanctions', riskType, categoryRiskScoreLevel: level }],
  })
  const verdictOf = async (type: string | undefined, level: unknown) => (await trm(201, [item(type, level)])).verdict
  assert.equal(await verdictOf('OWNERSHIP', 15), 'blocked')
  assert.equal(await verdictOf('OWNERSHIP', 10), 'blocked')
  assert.equal(await verdictOf('OWNERSHIP', 5), 'clean')
  assert.equal(await verdictOf('COUNTERPARTY', 10), 'hold')
  assert.equal(await verdictOf('INDIRECT', 15), 'clean')
  assert.equal(await verdictOf(undefined, 15), 'hold')
  assert.equal(await verdictOf('OWNERSHIP', undefined), 'unavailable')
  const other = { ...item('OWNERSHIP', 1), address: '0x01' }
  assert.equal((await trm(201, [other, item('OWNERSHIP', 15)])).verdict, 'blocked', 'in any order')
  assert.equal((await trm(201, [other])).verdict, 'unavailable', 'ours is not among them')
  const spelt = { Address: ADDRESS, AddressRiskIndicators: [], Entities: [{ Entity: 'Mixer', RiskScoreLevel: 15 }] }
  assert.equal((await trm(201, [spelt])).verdict, 'blocked')
})

test('TRM: what was released at High, then is Severe, is another doubt, for each reason of its own', async () => {
  const indicator = (category: string, level: number) => ({
    ...{ riskType: 'COUNTERPARTY', category, categoryRiskScoreLevel: level },
  })
  const screen = async (...addressRiskIndicators: unknown[]) => {
    const answer = await trm(201, [{ address: CHECKSUM, entities: [], addressRiskIndicators }])
    return { source: 'trm' as const, ...answer }
  }
  const seen = acceptedWith([], [await screen(indicator('Mixer', 10), indicator('Terrorist Financing', 10))])
  assert.equal(isAccepted(seen, await screen(indicator('Terrorist Financing', 10))), true)
  const later = await screen(indicator('Mixer', 10), indicator('Terrorist Financing', 15))
  assert.deepEqual(later.reasons, ['COUNTERPARTY: Mixer (High)', 'COUNTERPARTY: Terrorist Financing (Severe)'])
  assert.equal(isAccepted(seen, later), false)
})

test('TRM is asked by its word for the chain, and as Ethereum where it knows none', async () => {
  const chainOf = async (network: number): Promise<string> => {
    await trm(201, [], network)
    return (JSON.parse(asked.at(-1)?.body ?? '[]') as { chain: string }[])[0]?.chain ?? ''
  }
  assert.deepEqual([await chainOf(137), await chainOf(31337)], ['polygon', 'ethereum'])
  assert.equal(asked.at(-1)?.headers.authorization, `Basic ${Buffer.from('key:key').toString('base64')}`)
})

test('the oracle: one node that says sanctioned outweighs those that say it is not', async () => {
  const [no, yes] = [`0x${'0'.repeat(64)}`, `0x${'0'.repeat(63)}1`]
  assert.equal((await oracle(no, no)).verdict, 'clean')
  assert.equal((await oracle(no, yes)).verdict, 'blocked')
  assert.equal((await oracle(no, '0x')).verdict, 'unavailable')
})

test('the deny list: new entries count at once, missing ones after the file has rested', async (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'comptoir-deny-'))
  context.after(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'list.txt')
  const other = `0x${'7'.repeat(40)}`
  let nowMs = Date.now()
  writeFileSync(file, `# first\n${CHECKSUM}   # with a comment\r\n\n`)
  const list = openDenyList(file, () => nowMs)
  const isListed = async (address: string): Promise<boolean> =>
    (await list.screen({ network: 1, address })).verdict === 'blocked'
  assert.equal(await isListed(ADDRESS), true)
  writeFileSync(file, '')
  assert.equal(await isListed(ADDRESS), true, 'it may be half written')
  writeFileSync(file, `${other}\n`)
  assert.deepEqual([await isListed(ADDRESS), await isListed(other)], [true, true])
  nowMs += 3 * SECOND
  assert.deepEqual([await isListed(ADDRESS), await isListed(other)], [false, true])
  rmSync(file)
  nowMs += 60 * SECOND
  assert.equal(await isListed(other), true)
  assert.match(list.look().fault ?? '', /ENOENT/)
  writeFileSync(file, `${ADDRESS}\nnot an address\n`)
  assert.deepEqual([await isListed(other), await isListed(ADDRESS)], [true, false])
  assert.match(list.look().fault ?? '', /line 2/)
  writeFileSync(file, `${other}\n`)
  assert.deepEqual([await isListed(other), list.look().fault], [true, null])
})

test('a source that is away is left alone for seconds, and never throws', async () => {
  let calls = 0
  let nowMs = 0
  const broken: ScreeningSource = {
    id: 'trm',
    screen: () => {
      calls += 1
      throw new Error('away')
    },
  }
  const source = superviseSource(broken, () => nowMs)
  for (let round = 0; round < 10; round += 1)
    assert.equal((await source.screen({ network: 1, address: ADDRESS })).verdict, 'unavailable')
  assert.equal(calls, 3)
  nowMs += 30 * SECOND
  await source.screen({ network: 1, address: ADDRESS })
  assert.equal(calls, 4)
})
