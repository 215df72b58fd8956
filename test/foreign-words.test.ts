import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { RefundRequest } from '../src/channels/channel.ts'
import { reportOf as cryptoReport } from '../src/channels/cryptopay/status-map.ts'
import { readRefund } from '../src/channels/gatepay/refunds.ts'
import { reportOf as gateReport } from '../src/channels/gatepay/status-map.ts'
import { reportOfOrder as kucoinReport } from '../src/channels/kucoinpay/status-map.ts'
import { openAddressRisk } from '../src/screening/sources/address-risk.ts'

/* A word that no document spells is unknown, also one that every JavaScript object answers to. */

const INHERITED = [...Object.getOwnPropertyNames(Object.prototype), 'no such word']
const ROOT = join(import.meta.dirname, '..')

test('a status that is the name of an inherited property is unknown, and never paid, expired or settled', () => {
  const order = { orderAmount: '54', currency: 'USDC', transaction_info: { done_amount: '54' } }
  const payment = { id: 'p', amount: '5000', currency: 'EUR', captured: true, current_inbound_fund: { amount: '54' } }
  const price = { due: { asset: 'USDC', units: 54_000_000n }, fiat: { asset: 'EUR', units: 5000n } } as const
  const facts = { clock: Date.now, weCancel: false }
  const gate = { providerReference: 'p', closedStatuses: [] }
  for (const status of INHERITED) {
    const refund = { reference: null, units: 54_000_000n } as unknown as RefundRequest
    const said = [
      gateReport(status, order, gate).outcome,
      readRefund(refund, { status, requestAmount: '54' }).outcome,
      cryptoReport({ ...payment, status }, price, facts).outcome,
      kucoinReport({ orderAmount: '54', orderCurrency: 'USDC', status }, 'p').outcome,
    ]
    assert.deepEqual(said, ['unknown', 'unknown', 'unknown', 'unknown'], status)
  }
})

test('a risk that is the name of an inherited property clears no address', async () => {
  const address = `0x${'ab'.repeat(20)}`
  for (const risk of INHERITED) {
    const http = async () => ({ status: 200, headers: {}, text: JSON.stringify({ address, risk }) })
    const source = openAddressRisk({ http, baseUrl: 'https://risk.example', token: 't' })
    await assert.rejects(async () => source.screen({ network: 1, address }), /is not documented/, risk)
  }
})

test('what comes from outside is looked up in no plain record by brackets', () => {
  const folders = 'src/{channels,screening,compliance,db/backup}/**/*.ts'
  const wrong = globSync(folders, { cwd: ROOT }).flatMap((file) => {
    const text = readFileSync(join(ROOT, file), 'utf8')
    const records = [...text.matchAll(/const ([A-Z_]+): (?:Readonly<)?Record<string,/g)].map(([, name = '']) => name)
    return records.filter((name) => text.includes(`${name}[`)).map((name) => `${file}: ${name}[…]; use ownAt`)
  })
  assert.deepEqual(wrong, [])
})
