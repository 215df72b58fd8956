import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LANE_CAP, Lanes, MOST_IN_LANE, newsOf } from './lanes.ts'

const lane = (name: string) => ({ companyId: 'c'.repeat(24), lane: `https://${name}:443` })
const one = lane('one')

const timeOut = (lanes: Lanes, key: typeof one, times: number): void => {
  for (let index = 0; index < times; index += 1) {
    lanes.started(key)
    lanes.ended(key, 'timeout')
  }
}

test('a lane has room for eight, less what is in flight', () => {
  const lanes = new Lanes(512)
  for (let index = 0; index < 5; index += 1) lanes.started(one)
  assert.deepEqual(lanes.limits(), [{ ...one, free: LANE_CAP - 5 }])
  for (let index = 0; index < 5; index += 1) lanes.ended(one, 'good')
  assert.deepEqual(lanes.limits(), [])
})

test('three time-outs in a row lead to the slow lane, one answer out of it', () => {
  const lanes = new Lanes(512)
  timeOut(lanes, one, 2)
  lanes.started(one)
  lanes.ended(one, 'good')
  timeOut(lanes, one, 2)
  assert.equal(lanes.counts().slow, 0)
  timeOut(lanes, one, 1)
  assert.equal(lanes.counts().slow, 1)
  assert.deepEqual(lanes.limits(), [{ ...one, free: 1 }])
  lanes.started(one)
  assert.deepEqual(lanes.limits(), [{ ...one, free: 0 }])
  lanes.ended(one, 'good')
  assert.equal(lanes.counts().slow, 0)
})

test('all slow lanes together take at most a quarter of the places', () => {
  const lanes = new Lanes(16)
  const dead = Array.from({ length: 10 }, (_, index) => lane(`dead${index}`))
  for (const key of dead) {
    timeOut(lanes, key, 3)
    lanes.noteBacklog(key, 0)
  }
  const first = lanes.takeTurns(100)
  assert.equal(
    first.reduce((sum, turn) => sum + turn.free, 0),
    4,
  )
  for (const turn of first) lanes.started(turn)
  assert.deepEqual(lanes.takeTurns(100), [])
  const [ended] = first
  assert.ok(ended)
  lanes.ended(ended, 'timeout')
  const [next] = lanes.takeTurns(100)
  assert.notEqual(next?.lane, ended.lane, 'the one that waited longest is next')
})

test('lanes with a backlog take turns, and leave the line when they are empty', () => {
  const lanes = new Lanes(512)
  for (const name of ['a', 'b', 'c']) lanes.noteBacklog(lane(name), 5)
  assert.deepEqual(
    lanes.takeTurns(8).map((turn) => turn.lane),
    ['https://a:443'],
  )
  assert.deepEqual(
    lanes.takeTurns(16).map((turn) => turn.lane),
    ['https://b:443', 'https://c:443'],
  )
  assert.equal(lanes.backlogged().length, 3)
  lanes.noteDrained(lane('b'))
  assert.deepEqual(
    lanes.takeTurns(100).map((turn) => turn.lane),
    ['https://a:443', 'https://c:443'],
  )
})

/** Sends as many as the lane has room for, and ends all with the same outcome. */
function sendRound(lanes: Lanes, news: Parameters<Lanes['ended']>[1]): number {
  lanes.noteBacklog(one, 0)
  const [turn] = lanes.takeTurns(512)
  const free = turn?.free ?? 0
  for (let index = 0; index < free; index += 1) lanes.started(one)
  for (let index = 0; index < free; index += 1) lanes.ended(one, news)
  return free
}

test('a lane in front of a queue earns a place for eight good answers, and trouble halves it, never below eight', () => {
  const lanes = new Lanes(512)
  assert.deepEqual([sendRound(lanes, 'good'), sendRound(lanes, 'good')], [8, 9])
  let rounds = 0
  while (sendRound(lanes, 'good') < MOST_IN_LANE) rounds += 1
  assert.ok(rounds < 50)
  assert.equal(sendRound(lanes, 'good'), MOST_IN_LANE, 'it grows no further')
  assert.equal(sendRound(lanes, 'refused'), MOST_IN_LANE, 'a refusal in time says nothing about speed')
  lanes.started(one)
  lanes.ended(one, 'trouble')
  assert.equal(sendRound(lanes, 'trouble'), MOST_IN_LANE / 2)
  assert.equal(sendRound(lanes, 'good'), LANE_CAP)
})

test('a lane without a queue earns nothing', () => {
  const lanes = new Lanes(512)
  for (let index = 0; index < 100; index += 1) {
    lanes.started(one)
    lanes.started(one)
    lanes.ended(one, 'good')
    assert.deepEqual(lanes.limits(), [{ ...one, free: LANE_CAP - 1 }])
    lanes.ended(one, 'good')
  }
})

test('an overloaded, slow or broken receiver is trouble; one that only refuses is not', () => {
  const result = { failure: null, statusCode: 200, durationMs: 20 } as const
  assert.equal(newsOf(result), 'good')
  assert.equal(newsOf({ ...result, durationMs: 1500 }), 'trouble')
  assert.equal(newsOf({ ...result, failure: 'http_status', statusCode: 429 }), 'trouble')
  assert.equal(newsOf({ ...result, failure: 'http_status', statusCode: 503 }), 'trouble')
  assert.equal(newsOf({ ...result, failure: 'connection_reset', statusCode: null }), 'trouble')
  assert.equal(newsOf({ ...result, failure: 'timeout', statusCode: null }), 'timeout')
  assert.equal(newsOf({ ...result, failure: 'http_status', statusCode: 404 }), 'refused')
})
