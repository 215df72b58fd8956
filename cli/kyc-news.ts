import type { Comptoir, Data } from '../sdk/index.ts'

export type KycNews = {
  event: string
  kycId: string
  orderId: string
  code: string
  alias: string | null
  status: string
  updatedAt: string
} & Record<string, unknown>

type Detail = Data<'getKyc'>
type Entry = Detail['history'][number]

/** The event that a step of the history sent; null if it sent none. */
function eventOf(before: Entry | undefined, after: Entry): string | null {
  if (before?.status !== after.status) return `kyc.${after.status}`
  if (after.eddStatus !== 'completed') return null
  const isSame = before.eddOutcome === after.eddOutcome && before.spendingLimit === after.spendingLimit
  return isSame ? null : 'kyc.edd_completed'
}

async function newsOf(client: Comptoir, detail: Detail, since: number): Promise<KycNews[]> {
  const fresh = detail.history.flatMap((entry, index) => {
    const event = eventOf(detail.history[index - 1], entry)
    return event !== null && Date.parse(entry.at) > since ? [{ event, entry }] : []
  })
  const orders = fresh.length === 0 ? [] : await Promise.all(detail.orders.map(({ code }) => client.orders.get(code)))
  return fresh.flatMap(({ event, entry }) =>
    orders.map(({ _id: orderId, code, alias }) => ({
      ...{ event, kycId: detail._id, orderId, code, alias, status: entry.status, updatedAt: entry.at },
      ...(event === 'kyc.edd_completed'
        ? { eddStatus: entry.eddStatus, eddOutcome: entry.eddOutcome, spendingLimit: entry.spendingLimit }
        : {}),
    })),
  )
}

/** The most that the API returns at once. */
const LIMIT = 100

/** News about identity checks, which the feed of orders does not contain: read from their history, each once. */
export async function openKycNews(client: Comptoir): Promise<() => Promise<KycNews[]>> {
  // the list is ordered by age, and an old check may change
  const read = async (page = 1): Promise<Data<'listKyc'>['checks']> => {
    const { checks } = await client.api.listKyc({ limit: LIMIT, page })
    return checks.length < LIMIT ? checks : [...checks, ...(await read(page + 1))]
  }
  const seen = new Map((await read()).map(({ _id, updatedAt }) => [_id, updatedAt]))
  return async () => {
    const changed = (await read()).filter(({ _id, updatedAt }) => seen.get(_id) !== updatedAt)
    const news: KycNews[] = []
    const details: Detail[] = []
    for (const { _id } of changed) {
      const detail = await client.api.getKyc({ id: _id })
      news.push(...(await newsOf(client, detail, Date.parse(seen.get(_id) ?? '') || 0)))
      details.push(detail)
    }
    // not before all of them are read: what a failure drops is read again
    for (const { _id, updatedAt } of details) seen.set(_id, updatedAt)
    return news
  }
}
