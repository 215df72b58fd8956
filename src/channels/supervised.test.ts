import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AppError } from '../kernel/errors.ts'
import { type Channel, NO_INSTRUCTIONS, type PaymentRequest, type RefundRequest } from './channel.ts'
import { type ProviderCallRecord, recordProviderCall, scrub } from './provider-calls.ts'
import { ProviderRefusal, ProviderTrouble } from './provider-errors.ts'
import { type Supervision, supervise } from './supervised.ts'

const REQUEST = {
  companyId: 'company',
  merchantReference: '0123456789abcdef0123456701',
} as PaymentRequest

const REFUND = { companyId: 'company', merchantReference: REQUEST.merchantReference } as RefundRequest

const EXCHANGE: ProviderCallRecord = {
  method: 'POST',
  url: 'https://pay.example/orders',
  body: '{"amount":"1","apiSecret":"open-sesame-1234"}',
  status: 200,
  answer: '{"token":"abcdefgh","email":"ada@shop.example","ok":true}',
  durationMs: 3,
  startedAt: 0,
}

/** A supervised provider whose behaviour and clock the test controls. */
function open(behave: () => Promise<void>, clockAheadMs: () => number | null = () => null) {
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
    async refundPayment() {
      await behave()
      return { outcome: 'settled', reference: 'r1', txHash: null, providerStatus: 'do\0ne' }
    },
    fetchPayment: async () => ({ outcome: 'waiting', providerReference: 'p1', providerStatus: 'OPEN' }),
  }
  const supervision: Supervision = {
    clock: () => nowMs,
    sink: ({ step }, { body, answer }) => void seen.push({ step, answer: body + answer }),
    count: ({ step, outcome }) => void counted.push(`${step} ${outcome}`),
  }
  const supervised = supervise(channel, supervision, clockAheadMs)
  return {
    ...{ seen, counted, health: supervised.health },
    create: () => supervised.channel.createPayment(REQUEST),
    refund: async () => supervised.channel.refundPayment?.(REFUND),
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
  assert.equal(provider.health().available, true)
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

test('a definite no is an answer: it opens no circuit', async () => {
  const provider = open(async () => {
    throw new ProviderRefusal('amount', 'too little')
  })
  for (let index = 0; index < 8; index += 1) await assert.rejects(provider.create(), ProviderRefusal)
  assert.equal(provider.health().available, true)
  assert.equal(provider.calls(), 8)
})

test('refused credentials hide the channel for a pause, then a trial brings it back without a restart', async () => {
  let refusal: ProviderRefusal | null = new ProviderRefusal('credentials', 'signature wrong')
  const provider = open(async () => {
    if (refusal) throw refusal
  })
  await assert.rejects(provider.create(), ProviderRefusal)
  assert.match(provider.health().reason ?? '', /refuses our credentials/)
  assert.equal(provider.health().circuit.cause, 'credentials')
  await assert.rejects(provider.create(), /left alone/)
  provider.pass(59_999)
  assert.equal(provider.health().available, false)
  provider.pass(1)
  assert.equal(provider.health().available, true, 'the next payer is the trial')
  await assert.rejects(provider.create(), /signature wrong/)
  provider.pass(60_000)
  assert.equal(provider.health().available, false, 'the second pause is longer')
  provider.pass(60_000)
  refusal = null
  await provider.create()
  assert.equal(provider.health().available, true)
  assert.deepEqual(provider.counted, ['create refused', 'create refused', 'create done'])
})

test('a wrong clock is told apart from a wrong key, by the provider’s word or by its Date', async () => {
  let clockAheadMs: number | null = null
  let reason: 'clock' | 'credentials' = 'clock'
  const provider = open(
    async () => {
      throw new ProviderRefusal(reason, 'refused')
    },
    () => clockAheadMs,
  )
  await assert.rejects(provider.create(), ProviderRefusal)
  assert.equal(provider.health().circuit.cause, 'clock')
  assert.equal(provider.health().reason, 'the provider refuses our time')
  provider.pass(60_000)
  reason = 'credentials'
  clockAheadMs = -95_000
  await assert.rejects(provider.create(), ProviderRefusal)
  assert.equal(provider.health().circuit.cause, 'clock')
  assert.match(provider.health().reason ?? '', /clock is 95 s behind the provider’s/)
  provider.pass(120_000)
  clockAheadMs = 10_000
  await assert.rejects(provider.create(), ProviderRefusal)
  assert.equal(provider.health().circuit.cause, 'credentials', 'ten seconds are tolerated')
})

test('a time that is refused though our clock is right is one slow request: it takes the channel from nobody else', async () => {
  const provider = open(
    async () => {
      throw new ProviderRefusal('clock', 'outside of the time window')
    },
    () => 60,
  )
  for (let turn = 1; turn <= 4; turn += 1) {
    await assert.rejects(provider.create(), ProviderRefusal)
    assert.equal(provider.health().available, true)
  }
  await assert.rejects(provider.create(), ProviderRefusal)
  assert.equal(provider.health().circuit.cause, 'trouble', 'five in a row are trouble')
})

test('a clock that is wrong by little more than a second, of which less is measured, is named at once', async () => {
  for (const measuredMs of [583, 1487, -200]) {
    const provider = open(
      async () => {
        throw new ProviderRefusal('clock', 'outside of the time window')
      },
      () => measuredMs,
    )
    await assert.rejects(provider.create(), ProviderRefusal)
    assert.equal(provider.health().circuit.cause, 'clock')
    assert.match(provider.health().reason ?? '', /refuses our time/)
    provider.pass(60_000)
    assert.equal(provider.health().available, true, 'a minute later one call tries')
  }
})

test('refunds that are not allowed take no payment channel away', async () => {
  const provider = open(async () => {
    throw new ProviderRefusal('credentials', 'no right to refund')
  })
  await assert.rejects(provider.refund(), ProviderRefusal)
  assert.equal(provider.health().available, true)
})

test('a refund that is answered with an unknown word takes no payment channel away, one without an answer does', async () => {
  let answered = true
  const provider = open(async () => {
    throw new ProviderTrouble('code 999', { answered })
  })
  for (let index = 0; index < 8; index += 1) await assert.rejects(provider.refund(), /code 999/)
  assert.equal(provider.health().available, true)
  answered = false
  for (let index = 0; index < 5; index += 1) await assert.rejects(provider.refund(), /code 999/)
  assert.equal(provider.health().available, false)
})

test('a fault of our own in the trial leaves the circuit half-open: the next call tries', async () => {
  let fault: Error | null = new ProviderTrouble('no answer')
  const provider = open(async () => {
    if (fault) throw fault
  })
  for (let index = 0; index < 5; index += 1) await assert.rejects(provider.create(), ProviderTrouble)
  provider.pass(20_000)
  fault = new AppError('CHANNEL_NOT_AVAILABLE')
  await assert.rejects(provider.create(), AppError)
  fault = null
  await provider.create()
  assert.equal(provider.health().circuit.state, 'closed')
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

test('what a provider says reaches the database without characters that it refuses', async () => {
  const report = await open(async () => {}).refund()
  assert.equal(report?.providerStatus, 'done')
  assert.equal(new ProviderRefusal('request', 'no\0').message, 'no')
  assert.equal(new ProviderTrouble('half \ud83d').message, 'half \ufffd')
})

test('a secret is scrubbed wherever it stands, also in a form and in a url', () => {
  const clean = scrub('token=abc123def&x=1 https://a.example/?signature=99ff&y=2 "clientIp":"203.0.113.9"', [])
  for (const word of ['abc123def', '99ff', '203.0.113.9']) assert.ok(!clean.includes(word), clean)
  assert.match(clean, /x=1/)
  assert.match(clean, /y=2/)
  assert.ok(scrub('x'.repeat(40_000), []).length < 17_000)
})
