import assert from 'node:assert/strict'
import { type ChannelAccount, listChannelAccounts, upsertChannelAccount } from '../../src/channels/account-queries.ts'
import { sql } from '../../src/db/db.ts'
import { wakePaymentsOfAccount } from '../../src/payments/accounts/account-queries.ts'
import { logIn, registerManager } from './accounts.ts'
import type { Market, MarketInstructions } from './market.ts'
import type { OrderData } from './shop.ts'

/** A shop with its own account at Gate; the operator has one there too. */
export async function openOwnGate(market: Market) {
  const person = await registerManager(market.host.baseUrl)
  const client = await logIn(market.host.baseUrl, person.email)
  const { data } = await client.get<{ collectors: { identifier: string }[] }>('collectors/list')
  const { CHANNEL_GATEPAY_CLIENT_ID: CLIENT_ID, CHANNEL_GATEPAY_SECRET: SECRET } = market.providers.credentials
  const path = (isForced: boolean) => `channel-accounts/gatepay?force=${isForced}`
  const save = (other = {}, isForced = true) =>
    client.call('PUT', path(isForced), { settings: { CLIENT_ID, SECRET, ...other } })
  assert.equal((await save()).status, 200)
  return {
    save,
    remove: (isForced = true) => client.call('DELETE', path(isForced)),
    async order(): Promise<OrderData> {
      const body = { amount: 50, fromAsset: 'EUR', merchantIdentifier: data.collectors[0]?.identifier }
      return (await client.post<{ order: OrderData }>('confirm_conversion/request', body)).data.order
    },
    accept: (code: string, paymentChannel = 'gatepay') =>
      client.post<MarketInstructions>(`confirm_conversion/accept/${code}`, { paymentChannel }),
    expire: (code: string) => client.post(`confirm_conversion/expire/${code}`),
    revert: (code: string, amount: string) => client.post(`confirm_conversion/revert/${code}`, { amount }),
  }
}

/** The accounts of the order's company become unreadable, as under another master key; the second time, readable. */
export const loseKey = ({ host: { db } }: Market, orderId: string): Promise<number> =>
  db.run(sql`
    update channel_accounts set sealed = reverse(sealed)
    where company_id = (select company_id from orders where id = ${orderId})`)

type AttemptRow = { own: boolean; status: string; words: string | null; waitsMinutes: boolean }

/** All payments of an order, oldest first. */
export const attemptsOf = (market: Market, orderId: string): Promise<AttemptRow[]> =>
  market.host.db.many<AttemptRow>(sql`
    select own_account as own, status, last_words as words,
      coalesce(next_check_at > now() + interval '2 minutes', false) as waits_minutes
    from payments where order_id = ${orderId} order by number`)

type Saved = ChannelAccount & { companyId: string }

/** The account that an order's payment was opened with. */
export async function accountOf({ host: { db } }: Market, orderId: string): Promise<Saved> {
  const { companyId, accountMark } = await db.one<{ companyId: string; accountMark: string }>(
    sql`select company_id, account_mark from payments where order_id = ${orderId}`,
  )
  const [account] = await listChannelAccounts(db, companyId)
  assert.ok(account)
  return { ...account, companyId, accountMarks: [accountMark] }
}

/** As another node saves it: the market's own still has its copy of the account before. */
export const saveElsewhere = (market: Market, account: Saved): Promise<void> =>
  market.host.db.tx(async (tx) => {
    const at = new Date()
    await upsertChannelAccount(tx, { ...account, by: 'user:1', at })
    await wakePaymentsOfAccount(tx, account, at)
  })

/** Attempts like the order's first one, which is closed, up to this number. @returns the number */
export async function skipTo(next: number, { host: { db } }: Market, { _id }: Pick<OrderData, '_id'>): Promise<number> {
  await db.run(sql`
    insert into payments
    select (jsonb_populate_record(p, jsonb_build_object('id', lpad(to_hex(n), 24, '0'), 'number', n,
      'merchant_reference', p.order_id || n, 'provider_reference', 'attempt ' || n, 'status', 'closed',
      'next_check_at', null))).*
    from payments p
      cross join generate_series((select max(number) + 1 from payments where order_id = ${_id}), ${next}::integer - 1) n
    where p.order_id = ${_id} and p.number = 1`)
  return next
}
