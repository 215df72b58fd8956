import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { bloomOf, falsePositiveRate, suspect } from './bloom.ts'
import { TRANSFER_TOPIC, toTopic } from './transfer-logs.ts'

const TOKEN = `0x${'7'.repeat(40)}`
const newAddress = (): string => `0x${randomBytes(20).toString('hex')}`

/** A busy block: `paid` receivers among `watched`, and transfers of others. */
function busyBlock({ watched, paid, others }: { watched: number; paid: number; others: number }) {
  const receivers = Array.from({ length: watched }, () => toTopic(newAddress()))
  const strangers = Array.from({ length: others }, () => toTopic(newAddress()))
  const topics = [...receivers.slice(0, paid), ...strangers].map((to) => [TRANSFER_TOPIC, toTopic(newAddress()), to])
  const bloom = bloomOf(topics.map((one) => ({ address: TOKEN, topics: one })))
  const asked = { tokens: [TOKEN], topic: TRANSFER_TOPIC, receivers }
  return { bloom, verdict: suspect(`0x${bloom.toString('hex')}`, asked, []) }
}

test('in a busy block one missing receiver may be chance, and forty are not', () => {
  const { bloom } = busyBlock({ watched: 3000, paid: 0, others: 40 })
  assert.ok(falsePositiveRate(bloom) * 3000 > 0.5, 'false positives are to be expected')
  const [one, forty] = [
    { paid: 1, others: 39 },
    { paid: 40, others: 0 },
  ].map((what) => Array.from({ length: 20 }, () => busyBlock({ watched: 3000, ...what }).verdict))
  assert.ok((one ?? []).filter((verdict) => verdict === 'weak').length >= 15, String(one))
  assert.deepEqual(new Set(forty), new Set(['strong']))
})
