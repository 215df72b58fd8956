import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Circuit, CircuitOpen, type Verdict } from './circuit.ts'

const RULES = {
  openAfter: 3,
  pausesMs: { trouble: [1000], credentials: [5000, 20_000], clock: [2000] },
  maxBusyMs: 60_000,
}

/** A circuit with a clock and a remote side that the test controls. */
function open() {
  let now = 0
  let calls = 0
  const circuit = new Circuit(() => now, RULES)
  const call = (verdict: Verdict | 'ok') =>
    circuit.run(
      async () => {
        calls += 1
        if (verdict !== 'ok') throw new Error(verdict.means)
        return 'ok'
      },
      () => verdict as Verdict,
    )
  const pass = (ms: number): void => {
    now += ms
  }
  return { circuit, call, calls: () => calls, pass }
}
const FAILS: Verdict = { means: 'fails' }
const refused = (attempt: Promise<unknown>) => assert.rejects(attempt, CircuitOpen)

test('open means open: after three failures in a row nothing is called until the pause is over', async () => {
  const { circuit, call, calls, pass } = open()
  for (const index of [1, 2, 3]) await assert.rejects(call(FAILS), /fails/, String(index))
  assert.deepEqual(circuit.state, { state: 'open', cause: 'trouble', openUntil: 1000 })
  await refused(call('ok'))
  pass(999)
  await refused(call('ok'))
  assert.equal(calls(), 3)
  pass(1)
  assert.equal(circuit.state.state, 'half-open')
  assert.equal(await call('ok'), 'ok')
  assert.deepEqual(circuit.state, { state: 'closed', cause: null, openUntil: null })
})

test('a clock that is set back ends the pause, and the wait for a trial that hangs', async () => {
  const { circuit, call, pass } = open()
  for (const _ of [1, 2, 3]) await assert.rejects(call(FAILS))
  pass(-2)
  assert.equal(circuit.state.state, 'open', 'a small correction ends nothing')
  pass(-3_600_000)
  assert.equal(circuit.state.state, 'half-open')
  void circuit.run(
    () => new Promise(() => {}),
    () => FAILS,
  )
  await refused(call('ok'))
  pass(-2)
  await refused(call('ok'))
  pass(-3_600_000)
  assert.equal(await call('ok'), 'ok')
  assert.equal(circuit.state.state, 'closed')
})

test('a success between failures counts from the beginning again', async () => {
  const { circuit, call } = open()
  await assert.rejects(call(FAILS))
  await assert.rejects(call(FAILS))
  await call('ok')
  await assert.rejects(call(FAILS))
  await assert.rejects(call(FAILS))
  assert.equal(circuit.state.state, 'closed')
})

test('half-open lets one call through at a time, and its failure opens the circuit again at once', async () => {
  const { circuit, call, calls, pass } = open()
  for (const _ of [1, 2, 3]) await assert.rejects(call(FAILS))
  pass(1000)
  const [first, second] = await Promise.allSettled([call(FAILS), call('ok')])
  assert.deepEqual([first.status, second.status], ['rejected', 'rejected'])
  assert.equal(calls(), 4)
  assert.equal(circuit.state.state, 'open')
  await refused(call('ok'))
})

test('a half-open circuit never sticks: a trial that was our own fault, or never ends, gives way to another', async () => {
  const { circuit, call, pass } = open()
  for (const _ of [1, 2, 3]) await assert.rejects(call(FAILS))
  pass(1000)
  await assert.rejects(call({ means: 'nothing' }), /nothing/)
  assert.equal(circuit.state.state, 'half-open')
  void circuit.run(
    () => new Promise(() => {}),
    () => FAILS,
  )
  await refused(call('ok'))
  pass(59_999)
  await refused(call('ok'))
  pass(1)
  assert.equal(await call('ok'), 'ok')
  assert.equal(circuit.state.state, 'closed')
})

test('refused credentials open it at once, and a trial follows each pause, later each time', async () => {
  const { circuit, call, pass } = open()
  const refusal: Verdict = { means: 'refuses', cause: 'credentials' }
  await assert.rejects(call(refusal), /refuses/)
  assert.deepEqual(circuit.state, { state: 'open', cause: 'credentials', openUntil: 5000 })
  pass(5000)
  await assert.rejects(call(refusal), /refuses/)
  assert.equal(circuit.state.openUntil, 25_000)
  pass(19_999)
  await refused(call('ok'))
  pass(1)
  await call('ok')
  assert.equal(circuit.state.state, 'closed')
})

test('a wrong clock is a cause of its own, with its own pause', async () => {
  const { circuit, call, pass } = open()
  await assert.rejects(call({ means: 'refuses', cause: 'credentials' }))
  pass(5000)
  await assert.rejects(call({ means: 'refuses', cause: 'clock' }))
  assert.deepEqual(circuit.state, { state: 'open', cause: 'clock', openUntil: 7000 })
  pass(2000)
  await call('ok')
})

test('a pause that the other side asks for is kept, but not for ever', async () => {
  const { circuit, call, pass } = open()
  await assert.rejects(call({ means: 'fails', retryAfterMs: 3_600_000 }))
  assert.deepEqual(circuit.state, { state: 'open', cause: 'busy', openUntil: 60_000 })
  pass(60_000)
  await call('ok')
  assert.equal(circuit.state.state, 'closed')
})

test('a definite answer of any kind is a sign of life', async () => {
  const { circuit, call } = open()
  await assert.rejects(call(FAILS))
  await assert.rejects(call(FAILS))
  await assert.rejects(call({ means: 'works' }))
  await assert.rejects(call(FAILS))
  assert.equal(circuit.state.state, 'closed')
})
