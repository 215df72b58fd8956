import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Order } from '../../sdk/index.ts'
import type { Stage } from './stage.ts'
import { STORY_PLAYS } from './stories.ts'

/** A service that makes this of the payment, and has screened these. */
function stageOf(status: Order['status'], kinds: string[], resets: string[]): Stage {
  const order = { code: 'c1', toAmount: '12.500000', status } as Order
  const sandbox = {
    screeningUrl: 'http://providers/screening/credentials',
    tell: async () => {},
    payFromWallet: async () => '0x',
    resetScreening: async () => void resets.push('reset'),
  }
  const api = { getOrderStory: async () => ({ entries: kinds.map((kind) => ({ kind })) }) }
  const acts = { order: async () => order, accept: async () => '0x', becomes: async () => order }
  return { ...acts, sandbox, client: { api } } as unknown as Stage
}

test('a story about screening fails where the service does not screen, names the settings, and clears up', async () => {
  const resets: string[] = []
  const play = (name: string, status: Order['status'], kinds: string[]) =>
    STORY_PLAYS[name]?.act(stageOf(status, kinds, resets)) ?? Promise.reject(new Error(`no ${name}`))
  const wanted = /does not screen .+KYT_CHAINALYSIS_BASE_URL .+ http:\/\/providers\/screening\/credentials\.$/
  await assert.rejects(play('kyt-sanctioned', 'PAID', []), wanted)
  await assert.rejects(play('kyt-sanctioned', 'PAID', ['screening']), wanted)
  await assert.rejects(play('kyt-outage', 'PAID', []), wanted)
  await play('kyt-outage', 'PAID', ['screening'])
  assert.equal((await play('kyt-sanctioned', 'KYT_FAILED', ['screening'])).status, 'KYT_FAILED')
  assert.equal(resets.length, 5)
})
