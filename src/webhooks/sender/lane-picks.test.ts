import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pickFairly } from './lane-picks.ts'

let places = 0
const due = (companyId: string, lane: string, dueMs: number) => {
  places += 1
  return { companyId, lane, dueMs, place: String(places) }
}
const anywhere = { lanes: [], companies: new Map(), limit: 100, crowd: 1000 }
const lanesOf = (picked: { lane: string }[]): string => picked.map(({ lane }) => lane).join(' ')

test('of one company the first of each lane, then the second, no more than a lane has room for', () => {
  const rows = [due('c', 'a', 1), due('c', 'a', 2), due('c', 'b', 3), due('c', 'a', 4), due('c', 'b', 5)]
  const picks = pickFairly(rows, { ...anywhere, lanes: [{ companyId: 'c', lane: 'a', free: 2 }] })
  assert.equal(lanesOf(picks.picked), 'a b a b')
  assert.deepEqual(picks.full, [{ companyId: 'c', lane: 'a', dueMs: 4 }])
})

test('the company with the fewest in flight comes first, and one company takes no more than its room', () => {
  const rows = [...Array.from({ length: 10 }, (_, index) => due('many', `m${index}`, index)), due('few', 'f', 20)]
  const companies = new Map([
    ['many', { inFlight: 50, free: 4 }],
    ['few', { inFlight: 0, free: 54 }],
  ])
  const picks = pickFairly(rows, { ...anywhere, companies })
  assert.equal(lanesOf(picks.picked), 'f m0 m1 m2 m3')
  assert.deepEqual(
    picks.full.map(({ lane }) => lane),
    ['m4', 'm5', 'm6', 'm7', 'm8', 'm9'],
    'what it has no room for takes turns',
  )
  assert.equal(lanesOf(pickFairly(rows, { ...anywhere, companies, limit: 1 }).picked), 'f')
})

test('a company that fills what was read leaves the search for what was not picked; others stay', () => {
  const rows = [...Array.from({ length: 10 }, (_, index) => due('many', `m${index}`, index)), due('few', 'f', 20)]
  const picks = pickFairly(rows, { ...anywhere, limit: 1, crowd: 5 })
  assert.equal(lanesOf(picks.picked), 'm0')
  assert.equal(picks.full.length, 9)
  assert.ok(picks.full.every(({ companyId }) => companyId === 'many'))
})
