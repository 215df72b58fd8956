import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CHANNEL_IDS } from './channel.ts'
import { readSettings, settingsOfEnv } from './kind.ts'
import { CHANNEL_KINDS } from './kinds.ts'

test('every channel but the payer’s own wallet has a kind, and each stands once', () => {
  assert.deepEqual(CHANNEL_KINDS.map(({ id }) => id).sort(), CHANNEL_IDS.filter((id) => id !== 'crypto').toSorted())
})

test('a company can choose no address that this server would call', () => {
  const open = CHANNEL_KINDS.flatMap(({ id, settings }) =>
    Object.entries(settings).flatMap(([name, { operatorOnly }]) =>
      /URL|ADDRESS/.test(name) && !operatorOnly ? [`${id} ${name}`] : [],
    ),
  )
  assert.deepEqual(open, [])
})

test('a channel of which nothing is set is not offered, one that is half set is a mistake with a line for each fault', () => {
  for (const kind of CHANNEL_KINDS) {
    assert.equal(readSettings(kind, {}).outcome, 'absent', kind.id)
    const required = Object.keys(kind.settings).filter((name) => kind.settings[name]?.fallback === undefined)
    const [first = '', ...others] = required
    const half = readSettings(kind, { [first]: 'x' })
    if (others.length === 0) continue
    assert.equal(half.outcome, 'faulty', kind.id)
    const named = half.outcome === 'faulty' ? half.faults.map(({ name }) => name) : []
    for (const name of others) assert.ok(named.includes(name), `${kind.id} names ${name}`)
  }
})

test('the operator’s values come from variables with the channel’s prefix', () => {
  const kind = CHANNEL_KINDS.find(({ id }) => id === 'gatepay')
  assert.ok(kind)
  const values = settingsOfEnv(kind, { CHANNEL_GATEPAY_CLIENT_ID: 'c', CHANNEL_GATEPAY_SECRET: 'long-secret', X: 'y' })
  const reading = readSettings(kind, values)
  assert.ok(reading.outcome === 'set')
  assert.equal(reading.values.CLIENT_ID, 'c')
  assert.deepEqual(reading.secrets, ['long-secret'])
})
