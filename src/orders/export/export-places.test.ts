import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openPlaces } from './export-places.ts'

const SECOND = 1000

function open() {
  let now = 0
  const take = openPlaces(() => now)
  const ended: string[] = []
  return {
    ended,
    wait: (ms: number) => {
      now += ms
    },
    take: (key: string, name = key) => take(key, () => ended.push(name)),
    refuses: (key: string) => assert.throws(() => take(key, () => {}), { code: 'BUSY' }),
  }
}

test('two companies with two files each leave a place for a third one', () => {
  const { take, refuses, ended } = open()
  take('a')
  take('a')
  take('b')
  refuses('a')
  refuses('b')
  take('c').giveBack()
  take('d')
  assert.deepEqual(ended, [])
})

test('four slow readers keep no fifth company from its file: the slowest goes, once it was measured', () => {
  const { take, refuses, ended, wait } = open()
  const [fast, slow, slower] = [take('a', 'fast'), take('b', 'slow'), take('c', 'slower')]
  take('d', 'still').note(1)
  for (let second = 0; second < 19; second += 1) {
    wait(SECOND)
    fast.note(100_000)
    slow.note(9000)
    slower.note(3000)
  }
  refuses('e')
  assert.deepEqual(ended, [])
  wait(2 * SECOND)
  const fifth = take('e')
  assert.deepEqual(ended, ['still'])
  refuses('e')
  take('f')
  take('g')
  refuses('h')
  assert.deepEqual(ended, ['still', 'slower', 'slow'], 'who reads at a common speed stays')
  fifth.giveBack()
  fifth.giveBack()
  take('h')
  refuses('i')
})

test('who read fast at first and stands still since loses the place', () => {
  const { take, refuses, ended, wait } = open()
  for (const key of ['a', 'b', 'c', 'd']) take(key).note(50_000_000)
  wait(21 * SECOND)
  refuses('e')
  wait(21 * SECOND)
  take('e')
  assert.deepEqual(ended, ['a'])
})
