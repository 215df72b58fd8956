import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HOUR, MINUTE, SECOND } from '../../kernel/clock.ts'
import { openEndpoints } from '../endpoints/endpoints.ts'
import type { Rpc } from '../endpoints/rpc.ts'
import { compareHeads } from './compare-heads.ts'

const NOW = 1_800_000_000_000
const silent: Rpc = { call: () => Promise.reject(), batch: () => Promise.reject(), close: async () => {} }

/** @param heads times relative to our clock; null: it did not answer */
function compared(heads: readonly (number | null)[], prepare = (_all: ReturnType<typeof open>['all']) => {}) {
  const { all, candidates } = open(heads.length)
  prepare(all)
  const { early, aheadAlone } = compareHeads(
    all.map((endpoint, index) => ({ endpoint, at: withNow(heads[index] ?? null) })),
    NOW,
  )
  const faults = all.map((endpoint) => endpoint.fault())
  const numbers = (endpoints: typeof early): number[] => endpoints.map(({ number }) => number)
  return { faults, early: numbers(early), aheadAlone: numbers(aheadAlone), read: numbers(candidates()) }
}
const withNow = (at: number | null): number | null => (at === null ? null : NOW + at)
const open = (count: number) => openEndpoints({ chainId: 1 }, new Array(count).fill(silent), { clock: () => NOW })

test('of three or more, who is more than 15 seconds behind the second newest is not used', () => {
  const { faults, read } = compared([-20 * SECOND, -2 * SECOND, -4 * SECOND, null])
  assert.deepEqual(
    [faults, read],
    [
      ['behind', null, null, null],
      [2, 3, 4],
    ],
  )
})

test('one node whose blocks are later than all others makes none of them behind', () => {
  for (const ahead of [16 * SECOND, 9 * MINUTE])
    for (const place of [0, 1, 2]) {
      const heads = [-17 * SECOND, -18 * SECOND, -19 * SECOND].with(place, ahead)
      assert.deepEqual(compared(heads).faults, [null, null, null], String(heads))
    }
})

test('of two, the older one is behind only if its block is old by our clock as well', () => {
  assert.deepEqual(compared([MINUTE, -14 * SECOND]).faults, [null, null])
  assert.deepEqual(compared([MINUTE, -16 * SECOND, null]).faults, [null, 'behind', null])
  assert.deepEqual(compared([-HOUR, -HOUR - 16 * SECOND]).faults, [null, 'behind'])
  assert.deepEqual(compared([null, Number.NEGATIVE_INFINITY, -HOUR]).faults, [null, 'behind', null])
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

/** Compares the same endpoints several times. */
function comparedInTurn(...rounds: readonly (readonly (number | null)[])[]) {
  const { all } = open(2)
  return rounds.map((heads) => {
    const { aheadAlone } = compareHeads(
      all.map((endpoint, index) => ({ endpoint, at: withNow(heads[index] ?? null) })),
      NOW,
    )
    return { faults: all.map((endpoint) => endpoint.fault()), aheadAlone: aheadAlone.map(({ number }) => number) }
  })
}

test('who was found far ahead is not believed because the others are silent, only when its time is right again', () => {
  const none = Number.NEGATIVE_INFINITY
  const faults = comparedInTurn([0, HOUR], [null, HOUR], [none, HOUR], [0, none], [0, SECOND]).map(
    (one) => one.faults[1],
  )
  assert.deepEqual(faults, ['outvoted', 'outvoted', 'outvoted', 'outvoted', null])
  const borneOut = comparedInTurn([0, HOUR], [HOUR - SECOND, HOUR])
  assert.deepEqual(borneOut[1]?.faults, [null, null])
})

test('who is far ahead and was always alone is read, with one alarm', () => {
  const [first, second] = comparedInTurn([null, HOUR], [null, HOUR])
  assert.deepEqual([first, second?.aheadAlone], [{ faults: [null, null], aheadAlone: [2] }, []])
})

test('a chain whose nodes all failed, or are all behind, is read through these', () => {
  const all = open(2)
  for (const endpoint of all.all) endpoint.behind = true
  assert.deepEqual(
    all.candidates().map(({ number }) => number),
    [1, 2],
  )
})
