import type { FastifyReply, FastifyRequest } from 'fastify'
import type { StaticLink } from '../../companies/static-links/static-link-queries.ts'
import { creatorOf } from '../../companies/static-links/static-link-service.ts'
import type { Db } from '../../db/db.ts'
import { DAY, SECOND } from '../../kernel/clock.ts'
import type { Money } from '../../kernel/money.ts'
import { findOrderByCode } from '../../orders/order-queries.ts'
import { isOpen } from '../../orders/order-states.ts'
import { isMoneyWaiting } from '../shared/payer-page-queries.ts'

/** The newest order that this browser made through a static link. */
export type LastPayment = {
  code: string
  amount: Money
  /** It can still be paid, is being confirmed, or has money that did not pay it. */
  goesOn: boolean
}

/** The order's code, which cannot be guessed; sent to the page of its own link alone. */
const COOKIE = 'lastPayment'
const CODE = /^\w{20,64}$/

export function rememberPayment(
  reply: FastifyReply,
  { path, payUrl }: { path: string; payUrl: string },
  code: string,
): void {
  const secure = payUrl.startsWith('https://')
  reply.setCookie(COOKIE, code, { path, maxAge: DAY / SECOND, sameSite: 'lax', httpOnly: true, secure })
}

/** Null: none, or the cookie names no order of this link. */
export async function findLastPayment(db: Db, request: FastifyRequest, link: StaticLink): Promise<LastPayment | null> {
  const code = request.cookies?.[COOKIE] ?? ''
  const order = CODE.test(code) ? await findOrderByCode(db, code) : undefined
  if (order?.companyId !== link.companyId || order.createdBy !== creatorOf(link)) return null
  const goesOn = isOpen(order.status) || (order.paidAt === null && (await isMoneyWaiting(db, order)))
  return { code: order.code, amount: order.from, goesOn }
}
