import assert from 'node:assert/strict'
import { sql } from '../../src/db/db.ts'
import { describeVerdict, verifyLedger } from '../../src/ledger/ledger-verify.ts'
import { type Client, logInSuperAdmin } from './accounts.ts'
import { withProof } from './refunds.ts'
import { type Answer, eventually } from './service.ts'
import type { OrderStory, Payable, Shop } from './shop.ts'

export type Listed = {
  _id: string
  kind: string
  status: string
  amount: string
  borneBy: string | null
  decidedBy: string | null
}

/** What an operator does about a shop's money, and how it stands. */
export type MoneyDesk = {
  admin: Client
  recordsOf(order: Pick<Payable, 'code'>): Promise<Listed[]>
  payFinally(order: Payable, units: bigint): Promise<string>
  until(order: Payable, isRight: (story: OrderStory) => boolean): Promise<OrderStory>
  /** The record, once it is there. */
  openRecord(order: Payable, kind: string, units: bigint): Promise<Listed>
  ignore(record: Listed): Promise<Answer>
  refund(order: Payable, record: Listed, to: string): Promise<Answer>
  /** Fails with the first difference. */
  checkBooks(): Promise<void>
  /** What is owed to the merchant. */
  payable(): Promise<bigint>
  /** What a payer reads. */
  pageOf(order: Payable, lang?: string): Promise<string>
  /** All news of the chain reached the payments. */
  toldOf(order: Payable, units: bigint): Promise<OrderStory>
}

export async function openMoneyDesk(shop: Shop): Promise<MoneyDesk> {
  const admin = await logInSuperAdmin(shop.host)
  const { db, baseUrl } = shop.host
  const recordsOf: MoneyDesk['recordsOf'] = async ({ code }) =>
    (await admin.get<{ mispayments: Listed[] }>(`mispayments?code=${code}`)).data.mispayments.toReversed()
  const until: MoneyDesk['until'] = (order, isRight) => eventually(() => shop.story(order.orderId), isRight)
  return {
    admin,
    recordsOf,
    until,
    async payFinally({ toAddress: to }, units) {
      const txHash = await shop.chain.pay({ to, units })
      await shop.makeFinal()
      return txHash
    },
    async openRecord(order, kind, units) {
      await until(order, ({ mispayments }) =>
        mispayments.some((one) => one.kind === kind && one.status === 'open' && one.units === String(units)),
      )
      const found = (await recordsOf(order)).find((one) => one.kind === kind && one.status === 'open')
      assert.ok(found)
      return found
    },
    ignore: (record) => admin.post(`mispayments/${record._id}/ignore`, { reason: 'no' }),
    async refund({ code }, record, to) {
      const body = await withProof(shop, { code, mispaymentId: record._id }, { address: to, reason: 'sent back' })
      return admin.post(`mispayments/${record._id}/refund`, body)
    },
    async checkBooks() {
      const verdict = await verifyLedger(db)
      assert.equal(verdict.difference, null, describeVerdict(verdict))
    },
    async payable() {
      const { units } = await db.one<{ units: string }>(sql`
        select coalesce(-sum(units), 0) as units from ledger_entries
        where company_id = ${shop.merchant.companyId} and account = 'company_payable'`)
      return BigInt(units)
    },
    async pageOf({ code }, lang = 'en') {
      const page = await (await fetch(`${baseUrl}/pay?code=${code}&lang=${lang}`)).text()
      const main = /<main>(.*)<p class="note" id="lost"/s.exec(page)?.[1] ?? ''
      return main
        .replaceAll(/<svg.*?<\/svg>/gs, '')
        .replaceAll(/<[^>]+>|\s+/g, ' ')
        .replaceAll(/ +/g, ' ')
    },
    toldOf: (order, units) =>
      until(order, ({ payments }) => payments.some(({ receivedUnits }) => BigInt(receivedUnits) === units)),
  }
}
