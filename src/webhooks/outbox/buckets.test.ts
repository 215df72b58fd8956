import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newId } from '../../kernel/ids.ts'
import { bucketOf, ownedBuckets } from './buckets.ts'

// stored with each delivery, so the number never changes
const BUCKETS = 256

test('every bucket has exactly one owner among the living nodes, in about equal shares', () => {
  const living = ['a:3000', 'b:3000', 'c:3000', 'c:3001']
  const shares = living.map((name) => ownedBuckets(name, living))
  assert.deepEqual(
    shares.flat().sort((left, right) => left - right),
    Array.from({ length: BUCKETS }, (_, bucket) => bucket),
  )
  for (const share of shares) assert.ok(share.length > BUCKETS / 8 && share.length < BUCKETS / 2, `${share.length}`)
})

test('a node that leaves moves only its own buckets', () => {
  const before = ownedBuckets('a', ['a', 'b', 'c'])
  const after = ownedBuckets('a', ['a', 'b'])
  assert.ok(before.every((bucket) => after.includes(bucket)))
  assert.deepEqual(ownedBuckets('a', ['a']).length, BUCKETS)
})

test('companies spread over the buckets, and a company keeps its own', () => {
  assert.equal(bucketOf('0123456789abcdef01234567'), bucketOf('0123456789abcdef01234567'))
  const used = new Set(Array.from({ length: 5000 }, () => bucketOf(newId())))
  assert.equal(used.size, BUCKETS)
})
