import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Channel, NO_INSTRUCTIONS, type PaymentRequest } from './channel.ts'
import { type ProviderCallRecord, recordProviderCall, scrub } from './provider-calls.ts'
import { ProviderRefusal, ProviderTrouble } from './provider-errors.ts'
import { supervise } from './supervised.ts'

const REQUEST = {
  companyId: 'company',
  merchantReference: '0123456789abcdef0123456701',
} as PaymentRequest

const EXCHANGE: ProviderCallRecord = {
  method: 'POST',
  url: 'https://pay.example/orders',
  body: '{"amount":"1","apiSecret":"open-sesame-1234"}',
  status: 200,
  answer: '{"token":"abcdefgh","email":"ada@shop.example","ok":true}',
  durationMs: 3,
  startedAt: 0,
}

/** A provider that does what the test says, behind its supervision, with a clock that the test moves. */
function open(behave: () => Promise<void>) {
  let nowMs = 0
  let calls = 0
  const seen: { step: string; answer: string }[] = []
  const counted: string[] = []
  const channel: Channel = {
    id: 'gatepay',
    networks: [],
    async createPayment() {
      calls += 1
      recordProviderCall(EXCHANGE, { secrets: ['open-sesame-1234'] })
      await behave()
      return { ...NO_INSTRUCTIONS, providerReference: 'p1' }
    },
    fetchPayment: async () => ({ outcome: 'waiting', providerReference: 'p1', words: 'OPEN' }),
  }
  const supervised = supervise(channel, {
    clock: () => nowMs,
    sink: ({ step }, { body, answer }) => void seen.push({ step, answer: body + answer }),
    count: (_channel, step, outcome) => void counted.push(`${step} ${outcome}`),
  })
  return {
    ...{ seen, counted, health: supervised.health },
    create: () => supervised.channel.createPayment(REQUEST),
    calls: () => calls,
    pass: (ms: number) => {
      nowMs += ms
    },
  }
}

const fail = async (): Promise<void> => {
  throw new ProviderTrouble('no answer')
}

test('after five troubles in a row the provider is left alone, then one call decides', async () => {
  let broken = true
  const provider = open(async () => (broken ? fail() : undefined))
  for (let index = 0; index < 5; index += 1) {
    assert.equal(provider.health().available, true)
    await assert.rejects(provider.create(), ProviderTrouble)
  }
  assert.match(provider.health().reason ?? '', /does not answer/)
  await assert.rejects(provider.create(), /left alone/)
  assert.equal(provider.calls(), 5, 'it is not called meanwhile')
  provider.pass(20_001)
  assert.equal(provider.health().available, true)
  const [first, second] = await Promise.allSettled([provider.create(), provider.create()])
  assert.deepEqual([first.status, second.status], ['rejected', 'rejected'])
  assert.equal(provider.calls(), 6, 'one trial, not two')
  broken = false
  provider.pass(20_001)
  await provider.create()
  assert.deepEqual(provider.health(), { available: true, reason: null })
})

test('a provider that asks to be left alone is, as long as it says but not for ever', async () => {
  const provider = open(async () => {
    throw new ProviderTrouble('too many requests', { retryAfterMs: 3_600_000 })
  })
  await assert.rejects(provider.create())
  provider.pass(9 * 60_000)
  await assert.rejects(provider.create(), /left alone/)
  provider.pass(61_000)
  await assert.rejects(provider.create(), /too many requests/)
})

test('a definite no is an answer: it opens no circuit; refused credentials hide the channel until one call works', async () => {
  let refusal: ProviderRefusal | null = new ProviderRefusal('amount', 'too little')
  const provider = open(async () => {
    if (refusal) throw refusal
  })
  for (let index = 0; index < 8; index += 1) await assert.rejects(provider.create(), ProviderRefusal)
  assert.equal(provider.health().available, true)
  refusal = new ProviderRefusal('credentials', 'signature wrong')
  await assert.rejects(provider.create())
  assert.match(provider.health().reason ?? '', /credentials/)
  refusal = null
  await provider.create()
  assert.equal(provider.health().available, true)
  assert.deepEqual(provider.counted.slice(-2), ['create refused', 'create done'])
})

test('what is said to a provider is recorded with its step, without secrets and without who pays', async () => {
  const provider = open(async () => {})
  await provider.create()
  const [exchange] = provider.seen
  assert.equal(exchange?.step, 'create')
  for (const word of ['open-sesame', 'abcdefgh', 'ada@shop']) assert.ok(!exchange?.answer.includes(word), word)
  assert.match(exchange?.answer ?? '', /"amount":"1"/)
  assert.match(exchange?.answer ?? '', /"ok":true/)
})

test('a secret is scrubbed wherever it stands, also in a form and in a url', () => {
  const clean = scrub('token=abc123def&x=1 https://a.example/?signature=99ff&y=2 "clientIp":"203.0.113.9"', [])
  for (const word of ['abc123def', '99ff', '203.0.113.9']) assert.ok(!clean.includes(word), clean)
  assert.match(clean, /x=1/)
  assert.match(clean, /y=2/)
  assert.ok(scrub('x'.repeat(40_000), []).length < 17_000)
})
