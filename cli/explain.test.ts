import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Order } from '../sdk/index.ts'
import { type Entry, explain } from './explain.ts'

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

test('money in another coin has the amount that the service says, and the way back from where it is', () => {
  const told = (facts: Record<string, string>): string => {
    const entry = { at: '2026-11-22T11:41:24.000Z', kind: 'mispayment', facts: { status: 'open', ...facts } }
    return explain(ORDER, [{ ...entry, facts: { kind: 'wrong_token', ...entry.facts } } as unknown as Entry])[2] ?? ''
  }
  const units = '54500000000000000000'
  const atGate = { units, asset: 'USDT', amount: '54.500000000000000000', reference: 'gatepay:unresolved:1' }
  assert.match(told(atGate), / 54\.50 USDT came in another token .*: return it at the provider, then ignore it\.$/)
  const onChain = { units: '7000000', asset: 'USDT', reference: '31337:0xab:1' }
  assert.match(told(onChain), / 7\.00 USDT came in another token .*: send it back by hand, then ignore it\.$/)
})

test('what a payment and a transfer became stands beside their time as what came later', () => {
  const told = (kind: string, facts: Record<string, unknown>): string =>
    explain(ORDER, [{ at: '2026-11-22T11:41:24.000Z', kind, facts } as unknown as Entry])[2] ?? ''
  const paid = { number: 1, channel: 'binance', status: 'paid', dueUnits: '12500000', dueAsset: 'USDC' }
  const said = told('payment', { ...paid, receivedUnits: '12500000', message: 'REFUNDED' })
  assert.match(said, /It is paid\. Received so far: 12\.50 USDC\. The provider’s latest word is “REFUNDED”\.$/)
  const atTill = told('payment', { ...paid, receivedUnits: '0', pos: 'POS-7', pastOrders: 'AbC, DeF' })
  assert.match(atTill, / at the shop’s till POS-7\. Earlier orders of this payer, says the shop: AbC, DeF\.$/)
  const transfer = { symbol: 'USDC', units: '12500000', fromAddress: '0xa', block: 1, txHash: '0xb', status: 'final' }
  assert.match(told('transfer', { ...transfer, finalAt: '2026-11-22T11:41:30.000Z' }), /; it became final later\.$/)
  assert.match(told('transfer', { ...transfer, finalAt: null }), /; it is not final yet\.$/)
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
