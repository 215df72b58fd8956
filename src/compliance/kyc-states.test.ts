import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Level, ReviewOutcome } from './identity-provider.ts'
import type { Kyc, KycState } from './kyc.ts'
import { applyReview } from './kyc-states.ts'

const NEW: KycState = { status: 'pending', eddStatus: 'none', eddOutcome: null, spendingLimit: null }
const kyc = (state: Partial<Kyc>): Kyc => ({ ...NEW, eddLimit: null, ...state }) as Kyc
const see = (state: Partial<Kyc>, outcome: ReviewOutcome, level: Level | null = 'basic') =>
  applyReview(kyc(state), { outcome, level, providerStatus: '', payerMessage: null, reviewedAt: null })

test('unknown words and unknown levels change nothing, whatever the check’s state', () => {
  for (const status of ['pending', 'approved', 'refused'] as const) {
    assert.equal(see({ status }, 'unknown'), null)
    assert.equal(see({ status }, 'approved', null), null)
    assert.equal(see({ status }, 'refused', null), null)
  }
})

test('the usual check: approved, refused, and back to pending when the provider takes it back', () => {
  assert.equal(see({}, 'notStarted'), null)
  assert.equal(see({}, 'retry'), null)
  assert.equal(see({}, 'approved')?.status, 'approved')
  assert.equal(see({}, 'refused')?.status, 'refused')
  assert.equal(see({ status: 'approved' }, 'approved'), null)
  for (const outcome of ['notStarted', 'pending', 'retry'] as const) {
    assert.equal(see({ status: 'approved' }, outcome)?.status, 'pending')
    assert.equal(see({ status: 'refused' }, outcome)?.status, 'pending')
  }
  assert.equal(see({ status: 'approved' }, 'refused')?.status, 'refused')
})

test('the enhanced check never touches what the usual one decided, and grants only what was named', () => {
  const asked = { status: 'approved', eddStatus: 'requested' } as const
  assert.equal(see(asked, 'notStarted', 'enhanced'), null)
  assert.equal(see(asked, 'pending', 'enhanced')?.eddStatus, 'pending')
  assert.deepEqual(see({ ...asked, eddLimit: '50000.00' }, 'approved', 'enhanced'), {
    status: 'approved',
    eddStatus: 'completed',
    eddOutcome: 'approved',
    spendingLimit: '50000.00',
  })
  const unnamed = see(asked, 'approved', 'enhanced')
  assert.deepEqual([unnamed?.eddStatus, unnamed?.spendingLimit], ['pending', null])
  const refused = see(asked, 'refused', 'enhanced')
  assert.deepEqual([refused?.status, refused?.eddOutcome, refused?.spendingLimit], ['approved', 'refused', '0.00'])
  const done = { status: 'approved', eddStatus: 'completed', eddOutcome: 'approved', spendingLimit: '9.00' } as const
  assert.equal(see(done, 'approved', 'enhanced'), null)
  assert.equal(see(done, 'approved'), null)
  for (const state of [done, { status: 'approved' } as const])
    assert.deepEqual(see(state, 'notStarted', 'enhanced'), NEW, 'taken back, or begun by the provider alone')
})

test('what a SuperAdmin refused is not granted again by a later word of the provider', () => {
  const refused = { status: 'approved', eddStatus: 'completed', eddOutcome: 'refused', spendingLimit: '0.00' } as const
  for (const outcome of ['approved', 'refused', 'unknown'] as const)
    assert.equal(see(refused, outcome, 'enhanced'), null)
  assert.deepEqual(see({ ...refused, eddLimit: '9.00' }, 'notStarted', 'enhanced'), { ...refused, status: 'pending' })
  assert.deepEqual(see({ ...refused, status: 'pending' }, 'approved'), refused)
  const again = { ...refused, eddStatus: 'requested' } as const
  assert.deepEqual(see(again, 'pending', 'enhanced'), { ...refused, eddStatus: 'pending' })
  assert.deepEqual(see(again, 'approved', 'enhanced'), { ...refused, eddStatus: 'pending' })
  assert.deepEqual(see(again, 'refused', 'enhanced'), refused)
  assert.equal(see({ ...again, eddLimit: '9.00' }, 'approved', 'enhanced')?.spendingLimit, '9.00')
})

test('who passes the enhanced check at once has passed the usual one', () => {
  assert.equal(see({}, 'approved', 'enhanced')?.status, 'approved')
  assert.equal(see({}, 'refused', 'enhanced')?.status, 'refused')
})
