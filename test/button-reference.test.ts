import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decideClick, decideSession, type ReferenceFacts } from '../src/companies/button-reference.ts'

/* The table of the rule by which a reference is sold once. */

const MADE = new Date('2026-03-02T10:00:00Z')
const none: ReferenceFacts = { paidAt: null, busySession: null }
const paidBefore = { ...none, paidAt: new Date('2026-03-02T09:00:00Z') }
const paidSince = { ...none, paidAt: new Date('2026-03-02T11:00:00Z') }
const busy = { ...none, busySession: 'another' }
const FACTS = [none, paidBefore, paidSince, busy]

const own = (status: string, hasMoney = false) => ({ status, isPaid: false, hasMoney })
const paid = { status: 'REFUNDED', isPaid: true, hasMoney: false }
const SELLING = [paid, own('WAITING_CHAIN_CONFIRMATION'), own('KYT_FAILED'), own('AWAITING', true)]
const ENDED = [own('EXPIRED'), own('CANCELLED'), own('ERROR')]

test('a click leads to an own order that may have money, and to a payable one only while the reference is not sold', () => {
  const click = (order: ReturnType<typeof own> | null, isTaken: boolean) =>
    FACTS.map((facts) => decideClick(facts, order, isTaken)).join(' ')
  for (const isTaken of [false, true]) {
    for (const order of [...SELLING, own('PENDING'), own('AWAITING')])
      assert.equal(click(order, isTaken), 'own own own own', order.status)
    const unsold = (word: string) => `${isTaken ? 'taken' : word} sold sold sold`
    assert.equal(click(own('INITIAL'), isTaken), unsold('own'))
    for (const order of [null, ...ENDED]) assert.equal(click(order, isTaken), unsold('new'), order?.status)
  }
})

test('a session of the shop’s server sells what was paid before it was made, and nothing that was sold since', () => {
  const open = (order: ReturnType<typeof own> | null, endedAt: Date | null) =>
    FACTS.map((facts) => decideSession(facts, order, { createdAt: MADE, endedAt })).join(' ')
  for (const order of SELLING) {
    assert.equal(open(order, null), 'own own own own', order.status)
    assert.equal(open(order, MADE), 'own own own own', order.status)
  }
  for (const order of [own('INITIAL'), own('PENDING'), own('AWAITING')]) {
    assert.equal(open(order, null), 'own own own own', order.status)
    assert.equal(open(order, MADE), 'ended ended ended ended', order.status)
  }
  for (const order of [null, ...ENDED]) {
    assert.equal(open(order, null), 'new new sold sold', order?.status)
    assert.equal(open(order, MADE), 'ended ended ended ended', order?.status)
  }
})
