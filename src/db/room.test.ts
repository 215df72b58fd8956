import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MINUTE, SECOND } from '../kernel/clock.ts'
import { openRoom } from './room.ts'

const failure = (code: string): Error => Object.assign(new Error(code), { code })
const DISK_FULL = failure('53100')

/** A room that was found full, and what its next probes meet. */
function openFull() {
  let nowMs = 0
  let answer: Error | null = DISK_FULL
  const write = async (): Promise<void> => {
    if (answer) throw answer
  }
  const room = openRoom(write, () => nowMs)
  room.note(DISK_FULL)
  return {
    room,
    async isFullAfter(ms: number, met: Error | null): Promise<boolean> {
      nowMs += ms
      answer = met
      await room.probe()
      return room.isFull()
    },
  }
}

test('a full disk is over when a probe could write, and not because the server does not answer', async () => {
  const { room, isFullAfter } = openFull()
  assert.ok(room.isFull())
  for (const code of ['53100', '57P03', 'ECONNREFUSED']) assert.ok(await isFullAfter(10 * SECOND, failure(code)), code)
  assert.ok(await isFullAfter(2 * MINUTE, failure('57P03')))
  assert.equal(await isFullAfter(10 * SECOND, null), false)
})

test('a role that may not probe counts as having room a minute after the last refused write', async () => {
  const { isFullAfter } = openFull()
  assert.ok(await isFullAfter(30 * SECOND, failure('42501')))
  assert.equal(await isFullAfter(40 * SECOND, failure('42501')), false)
})
