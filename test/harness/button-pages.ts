import { sql } from '../../src/db/db.ts'
import { registerManager } from './accounts.ts'
import type { TestService } from './service.ts'

/* The buy button: a page of the shop, our landing page in a frame, and what passes between them. */

export type ButtonMade = { _id: string }
export const SITE = { name: 'Tea', websiteUrl: 'https://tea.example/shop', price: '5', currency: 'EUR' }

export async function addButton({ baseUrl }: TestService, fields: Record<string, unknown> = {}) {
  const { client } = await registerManager(baseUrl)
  const { data, text } = await client.post<ButtonMade>('buy-buttons', { ...SITE, ...fields })
  if (!data) throw new Error(text)
  return { id: data._id, client }
}

/** Puts an order into a status, as if everything before had happened. */
export const putOrder = ({ db }: TestService, code: string | undefined, status: string) =>
  db.run(sql`
    update orders set status = ${status}, paid_at = case when ${status} = 'PAID' then now() end where code = ${code}`)

/** What the frame posts to its parent, and to whom, read from the page that the buyer's browser gets. */
export async function readFrame({ baseUrl }: TestService, path: string, headers: Record<string, string> = {}) {
  const answer = await fetch(baseUrl + path, { method: 'POST', headers: { origin: baseUrl, ...headers } })
  const text = await answer.text()
  const attribute = (name: string): string =>
    (new RegExp(`data-${name}="([^"]*)"`).exec(text)?.[1] ?? '').replaceAll('&quot;', '"').replaceAll('&amp;', '&')
  const messages = JSON.parse(attribute('messages') || '[]') as Record<string, string>[]
  return {
    answer,
    text,
    origin: attribute('origin'),
    framed: attribute('framed'),
    said: Object.assign({}, ...messages),
  }
}
