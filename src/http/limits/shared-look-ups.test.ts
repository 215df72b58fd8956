import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openSharedLookUps } from './shared-look-ups.ts'

test('a lone caller is looked up at once; who comes during the pause shares the next look-up', async () => {
  const asked: string[][] = []
  const lookUp = openSharedLookUps(async (secretHashes) => {
    asked.push(secretHashes)
    return new Map([['right', 'row']])
  })
  const first = lookUp('alone')
  assert.deepEqual(asked, [['alone']])
  const others = ['wrong', 'right', 'wrong'].map(lookUp)
  assert.deepEqual([await first, ...(await Promise.all(others))], [undefined, undefined, 'row', undefined])
  assert.deepEqual(asked.slice(1), [['wrong', 'right']])
})

test('a look-up that fails fails for all who share it, and the next ones are made', async () => {
  let isDown = true
  const lookUp = openSharedLookUps(async (secretHashes) => {
    if (isDown) throw new Error('down')
    return new Map(secretHashes.map((secretHash) => [secretHash, secretHash]))
  })
  await assert.rejects(lookUp('one'), /down/)
  const failed = ['two', 'three'].map((secretHash) => assert.rejects(lookUp(secretHash), /down/))
  await Promise.all(failed)
  isDown = false
  assert.equal(await lookUp('two'), 'two')
})
