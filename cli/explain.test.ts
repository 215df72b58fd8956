import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Order } from '../sdk/index.ts'
import { explain } from './explain.ts'
import type { Entry } from './money-words.ts'

const ORDER = { code: 'c1', status: 'INITIAL' } as unknown as Order
const checked = (status: string, eddStatus = 'none'): Entry =>
  ({ at: '2026-11-22T11:41:24.000Z', kind: 'identity', facts: { status, eddStatus } }) as unknown as Entry
const FIRST = /has to pass the identity check first/

test('says how many entries the service left out', () => {
  assert.match(explain(ORDER, [checked('pending')], 7).join('\n'), /^7 older entries, .* are left out\.$/m)
  assert.doesNotMatch(explain(ORDER, [checked('pending')]).join('\n'), /left out/)
})

test('what to do next follows the last word on the payer’s identity', () => {
  const next = (...entries: Entry[]): string => explain(ORDER, entries).join('\n')
  assert.match(next(checked('pending')), FIRST)
  assert.doesNotMatch(next(checked('pending'), checked('approved')), FIRST)
  assert.match(next(checked('approved'), checked('approved', 'requested')), FIRST)
  assert.doesNotMatch(next(checked('pending'), checked('refused')), FIRST)
  assert.match(next(checked('pending'), checked('refused')), /was refused: do not sell/)
})

const entry = (kind: string, facts: Record<string, string>): Entry =>
  ({ at: '2026-11-22T11:41:24.000Z', kind, facts }) as unknown as Entry
const misfit = (facts: Record<string, string>): Entry =>
  entry('mispayment', { status: 'open', units: '12500000', asset: 'USDC', amount: '12.500000', ...facts })
const told = (facts: Record<string, string>): string => explain(ORDER, [misfit(facts)])[2]?.slice(21) ?? ''
const nextSteps = (status: string, ...entries: Entry[]): string[] => {
  const lines = explain({ ...ORDER, status } as Order, entries)
  return lines.slice(lines.indexOf('What to do next:') + 1)
}

test('money that did not fit is said to wait only for the decisions that the service takes', () => {
  const ways = (facts: Record<string, string>): string => told(facts).replace(/^.+?\. /, '')
  assert.equal(ways({ kind: 'under' }), 'It waits for a decision: accept, refund or ignore it.')
  assert.equal(ways({ kind: 'duplicate' }), 'It waits for a decision: refund or ignore it.')
  assert.equal(ways({ kind: 'over' }), 'It waits for a decision: refund or ignore it.')
  assert.match(ways({ kind: 'held' }), /^Its screening is decided first; /)
  assert.match(ways({ kind: 'orphaned' }), /who bears the loss; it cannot be accepted, refunded or ignored\.$/)
  assert.equal(
    told({ kind: 'orphaned', status: 'borne' }),
    ['12.50 USDC was final and then left the chain.', 'It was decided who bears the loss.'].join(' '),
  )
})

test('money that has left again is shown as zero, not as an unknown amount', () => {
  assert.equal(
    told({ kind: 'over', units: '0', amount: '0.000000', status: 'resolved' }),
    '0.00 USDC came on top of what was due. It is settled.',
  )
})

test('money in another coin has the amount that the service says, and the way back from where it is', () => {
  const atGate = {
    kind: 'wrong_token',
    asset: 'USDT',
    amount: '54.500000000000000000',
    reference: 'gatepay:unresolved:1',
  }
  assert.match(told(atGate), /^54\.50 USDT came in another token .*: return it at the provider, then ignore it\.$/)
  const onChain = { kind: 'wrong_token', asset: 'DAI', units: '5400000000000000000', amount: '', reference: '1:0xab:1' }
  assert.match(
    told(onChain),
    /^5400000000000000000 smallest units of DAI came .*: send it back by hand, then ignore it\.$/,
  )
  assert.match(told({ ...atGate, units: '0' }), /^An unknown amount of USDT came /)
})

test('USDC that a provider froze or did not credit is not said to be another token', () => {
  const frozen = { kind: 'wrong_token', reference: 'gatepay:frozen:1' }
  assert.match(told(frozen), /^12\.50 USDC came, and the provider’s own screening froze it\. The provider decides /)
  const lost = { kind: 'wrong_token', reference: 'gatepay:unresolved:1' }
  assert.match(
    told(lost),
    /^12\.50 USDC came to the provider, which did not credit it .*: return it at the provider or /,
  )
})

test('money was sent back only once its refund has arrived', () => {
  const refunded = (refundStatus: string): string =>
    told({ kind: 'late', status: 'refunded', refundStatus }).replace(/^.+too late\. /, '')
  assert.equal(refunded('settled'), 'It was sent back.')
  assert.equal(refunded('needs_address'), 'It is to go back: its refund waits for the payer to say where it goes.')
  assert.equal(refunded('submitted'), 'It is to go back: its refund was sent and has not arrived yet.')
})

test('a loss and refunds that wait for someone come first, and nothing contradicts them', () => {
  const loss = misfit({ kind: 'orphaned' })
  const [first = '', ...others] = nextSteps('PAID', loss)
  assert.match(first, /^- Money of this order left the chain .* Decide who bears the loss .* nothing can be refunded/)
  assert.deepEqual(others, [])
  assert.match(nextSteps('PAID', misfit({ kind: 'orphaned', status: 'borne' })).join(), /^- Ship\./)
  const asked = entry('refund', { number: '1', units: '1', channel: 'crypto', status: 'needs_address' })
  const byHand = entry('refund', { number: '2', units: '1', channel: 'crypto', status: 'ready', waitsFor: 'person' })
  assert.match(nextSteps('REFUNDING', asked).join('\n'), /^- A refund waits for the payer: .+$/)
  assert.match(nextSteps('PAID', byHand).join('\n'), /^- A refund waits for a person to send it by hand .+\n- Ship\./)
  assert.match(explain(ORDER, [byHand])[2] ?? '', /waits for a person to send it by hand\.$/)
})

test('what a payment and a transfer became stands beside their time as what came later', () => {
  const said = (kind: string, facts: Record<string, unknown>): string =>
    explain(ORDER, [{ at: '2026-11-22T11:41:24.000Z', kind, facts } as unknown as Entry])[2] ?? ''
  const paid = { number: 1, channel: 'binance', status: 'paid', dueUnits: '12500000', dueAsset: 'USDC' }
  const payment = said('payment', { ...paid, receivedUnits: '12500000', message: 'REFUNDED' })
  assert.match(payment, /It is paid\. Received so far: 12\.50 USDC\. The provider’s latest word is “REFUNDED”\.$/)
  const atTill = said('payment', { ...paid, receivedUnits: '0', pos: 'POS-7', pastOrders: 'AbC, DeF' })
  assert.match(atTill, / at the shop’s till POS-7\. Earlier orders of this payer, says the shop: AbC, DeF\.$/)
  const transfer = { symbol: 'USDC', units: '12500000', fromAddress: '0xa', block: 1, txHash: '0xb', status: 'final' }
  assert.match(said('transfer', { ...transfer, finalAt: '2026-11-22T11:41:30.000Z' }), /; it became final later\.$/)
  assert.match(said('transfer', { ...transfer, finalAt: null }), /; it is not final yet\.$/)
})

test('a payment that is not final says whether money is on its way, a part is here, or the whole', () => {
  const told = (receivedUnits: string): string => {
    const facts = {
      number: 1,
      channel: 'crypto',
      status: 'confirming',
      dueUnits: '12500000',
      dueAsset: 'USDC',
      receivedUnits,
    }
    return explain(ORDER, [{ at: '2026-11-22T11:41:24.000Z', kind: 'payment', facts } as unknown as Entry])[2] ?? ''
  }
  assert.match(told('0'), /It has money on its way that is not final yet\.$/)
  assert.match(told('6000000'), /It waits for the rest, or for it to be final\. Received so far: 6\.00 USDC\.$/)
  assert.match(told('12500000'), /It has arrived and waits to be counted\. Received so far: 12\.50 USDC\.$/)
})
