import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LANE_CAP, Lanes, MOST_IN_LANE, newsOf } from './lanes.ts'

const lane = (name: string) => ({ companyId: 'c'.repeat(24), lane: `https://${name}:443` })
const one = lane('one')

const timeOut = (lanes: Lanes, key: typeof one, times: number): void => {
  for (let index = 0; index < times; index += 1) {
    lanes.started(key)
    lanes.ended(key, 'slow')
  }
}

test('a lane has room for eight, less what is in flight', () => {
  const lanes = new Lanes(512)
  for (let index = 0; index < 5; index += 1) lanes.started(one)
  assert.deepEqual(lanes.limits([one]), [{ ...one, free: LANE_CAP - 5 }])
  for (let index = 0; index < 5; index += 1) lanes.ended(one, 'good')
  assert.deepEqual(lanes.limits([one]), [])
})

test('three slow attempts in a row lead to the slow lane, one answer out of it', () => {
  const lanes = new Lanes(512)
  timeOut(lanes, one, 2)
  lanes.started(one)
  lanes.ended(one, 'good')
  timeOut(lanes, one, 2)
  assert.equal(lanes.counts().slow, 0)
  timeOut(lanes, one, 1)
  assert.equal(lanes.counts().slow, 1)
  assert.deepEqual(lanes.limits([one]), [{ ...one, free: 1 }])
  lanes.started(one)
  assert.deepEqual(lanes.limits([one]), [{ ...one, free: 0 }])
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
  lanes.ended(ended, 'slow')
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
  assert.equal(lanes.backlogged().lanes.length, 3)
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
    assert.deepEqual(lanes.limits([one]), [{ ...one, free: LANE_CAP - 1 }])
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
  assert.equal(newsOf({ ...result, failure: 'timeout', statusCode: null }), 'slow')
  assert.equal(newsOf({ ...result, failure: 'http_status', statusCode: 404 }), 'refused')
})

test('an answer after eight seconds is as bad as none, whatever it says', () => {
  const late = { failure: null, statusCode: 200, durationMs: 9500 } as const
  assert.equal(newsOf(late), 'slow')
  for (const statusCode of [500, 429, 404])
    assert.equal(newsOf({ ...late, failure: 'http_status', statusCode }), 'slow', String(statusCode))
})

const laneOf = (companyId: string, index: number) => ({ companyId, lane: `https://${index}.example:443` })

test('a company may hold as many slots as it leaves free, however many receivers it has, and another one starts at once', () => {
  const lanes = new Lanes(16, 64)
  for (let index = 0; index < 1000; index += 1) lanes.noteBacklog(laneOf('many', index), 0)
  for (let turns = lanes.takeTurns(10); turns.length > 0; turns = lanes.takeTurns(10))
    for (const turn of turns) for (let count = 0; count < turn.free; count += 1) lanes.started(turn)
  assert.deepEqual(lanes.companyRooms(['many']).get('many'), { inFlight: 32, free: 0 })
  assert.deepEqual(lanes.companyRooms(['other']).get('other'), { inFlight: 0, free: 16 })
  lanes.noteBacklog(laneOf('other', 0), 0)
  assert.deepEqual(lanes.takeTurns(100), [{ ...laneOf('other', 0), free: LANE_CAP, lowerMs: 0 }])
})

test('companies take turns, and each gives its lanes their turns', () => {
  const lanes = new Lanes(512)
  for (let index = 0; index < 3; index += 1) lanes.noteBacklog(laneOf('many', index), 0)
  lanes.noteBacklog(laneOf('few', 9), 0)
  const turns = (room: number) => lanes.takeTurns(room).map((turn) => turn.lane.slice(8, 9))
  assert.deepEqual(turns(24), ['0', '9', '1'])
  assert.deepEqual(turns(24), ['9', '2', '0'])
})

test('a company with more waiting lanes than a search can exclude leaves it as a whole, and no other does', () => {
  const lanes = new Lanes(512)
  for (let index = 0; index < 6000; index += 1) lanes.noteBacklog(laneOf('many', index), 0)
  for (let index = 0; index < 3; index += 1) lanes.noteBacklog(laneOf('few', index), 0)
  assert.deepEqual(lanes.backlogged(), {
    lanes: lanes.backlogged().lanes.filter(({ companyId }) => companyId === 'few'),
    companies: ['many'],
  })
  assert.equal(lanes.backlogged().lanes.length, 3)
  assert.equal(lanes.counts().backlogged, 5003, 'of one company 5 000 are remembered')
})

test('a slow receiver that no delivery goes to is forgotten after five minutes, and so is the oldest of too many', () => {
  let nowMs = 0
  const lanes = new Lanes(512, 2048, () => nowMs)
  for (let index = 0; index < 10_100; index += 1) timeOut(lanes, laneOf('many', index), 3)
  assert.equal(lanes.counts().slow, 10_000)
  nowMs = 4 * 60_000
  timeOut(lanes, laneOf('many', 10_099), 1)
  nowMs = 5 * 60_000
  lanes.takeTurns(1)
  assert.equal(lanes.counts().slow, 1, 'the one that timed out again a minute ago')
  lanes.started(laneOf('many', 10_099))
  nowMs = 60 * 60_000
  lanes.takeTurns(1)
  assert.equal(lanes.counts().slow, 1, 'none that is in use')
})
