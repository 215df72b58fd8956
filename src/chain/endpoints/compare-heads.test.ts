import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HOUR, MINUTE, SECOND } from '../../kernel/clock.ts'
import { compareHeads } from './compare-heads.ts'
import { openEndpoints } from './endpoints.ts'
import type { Rpc } from './rpc.ts'

const NOW = 1_800_000_000_000
const silent: Rpc = { call: () => Promise.reject(), batch: () => Promise.reject(), close: async () => {} }

/** @param heads times relative to our clock; null: it did not answer */
function compared(heads: readonly (number | null)[], prepare = (_all: ReturnType<typeof open>['all']) => {}) {
  const { all, candidates } = open(heads.length)
  prepare(all)
  const early = compareHeads(
    all.map((endpoint, index) => ({ endpoint, at: withNow(heads[index] ?? null) })),
    NOW,
  )
  const faults = all.map((endpoint) => endpoint.fault())
  return { faults, early: early.map(({ number }) => number), read: candidates().map(({ number }) => number) }
}
const withNow = (at: number | null): number | null => (at === null ? null : NOW + at)
const open = (count: number) => openEndpoints({ chainId: 1 }, new Array(count).fill(silent), { clock: () => NOW })

test('who is more than 15 seconds behind the newest block of another is not used', () => {
  const { faults, read } = compared([-20 * SECOND, -2 * SECOND, -16 * SECOND, null])
  assert.deepEqual(
    [faults, read],
    [
      ['behind', null, null, null],
      [2, 3, 4],
    ],
  )
})

test('who proved nothing is no measure, but may be behind', () => {
  const prove = (all: ReturnType<typeof open>['all']): void => {
    for (const endpoint of all.slice(1)) endpoint.unproven = true
    assert.ok(all[0])
  }
  const { faults, read } = compared([-5 * SECOND, HOUR], prove)
  assert.deepEqual([faults, read], [[null, 'unproven'], [1]])
  const opened = open(2)
  prove(opened.all)
  const [one, two] = opened.all as [(typeof opened.all)[number], (typeof opened.all)[number]]
  compareHeads(
    [
      { endpoint: one, at: NOW },
      { endpoint: two, at: NOW - MINUTE },
    ],
    NOW,
  )
  assert.equal(two.behind, true)
})

test('who is long ahead of our clock and of all others is not believed; the others are read', () => {
  const { faults, early, read } = compared([3 * HOUR, -SECOND, -4 * SECOND])
  assert.deepEqual([faults, early, read], [['outvoted', null, null], [1], [2, 3]])
})

test('a clock of ours that is wrong makes no node that others agree with a liar, nor one that is alone', () => {
  const none = Number.NEGATIVE_INFINITY
  for (const heads of [[3 * HOUR, 3 * HOUR - SECOND], [3 * HOUR, null], [3 * HOUR, none], [3 * HOUR], [MINUTE, 0]])
    assert.ok(!compared(heads).faults.includes('outvoted'), String(heads))
})

test('a chain whose nodes all failed, or are all behind, is read through these', () => {
  const all = open(2)
  for (const endpoint of all.all) endpoint.behind = true
  assert.deepEqual(
    all.candidates().map(({ number }) => number),
    [1, 2],
  )
})
