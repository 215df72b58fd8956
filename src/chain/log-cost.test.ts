import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LogCost } from './log-cost.ts'

test('a thousand receivers are always named; more only where the blocks hold more bytes of transfers', () => {
  const cost = new LogCost()
  assert.equal(cost.mostOfBlock(), 1000, 'nothing is known yet')
  cost.note(20, 1)
  assert.equal(cost.mostOfBlock(), 1000)
  cost.note(1600, 4)
  assert.ok(cost.mostOfBlock() > 1200 && cost.mostOfBlock() < 4000)
  for (let block = 0; block < 30; block += 1) cost.note(400, 1)
  assert.ok(cost.mostOfBlock() >= 3990)
  for (let block = 0; block < 30; block += 1) cost.note(5000, 1)
  assert.equal(cost.mostOfBlock(), 5000)
})

test('every five hundred questions all transfers are read again, so that a chain that calms down is noticed', () => {
  const cost = new LogCost()
  cost.note(400, 1)
  for (let block = 0; block < 500; block += 1) assert.ok(cost.mostOfBlock() > 1000)
  assert.equal(cost.mostOfBlock(), 1000)
  cost.note(0, 1)
  for (let block = 0; block < 10; block += 1) cost.note(0, 1)
  assert.equal(cost.mostOfBlock(), 1000)
})

test('of a range many receivers are named, because its answer would hold every transfer of many blocks', () => {
  const cost = new LogCost()
  assert.equal(cost.mostOfRange(1), 1000)
  assert.equal(cost.mostOfRange(2000), 10_000)
})
