import type { FastifyRequest } from 'fastify'
import { contextAs } from '../../http/request-context.ts'
import { AppError } from '../../kernel/errors.ts'
import { endOrder, type OrderDeps } from '../../orders/order-service.ts'
import { payerOf } from '../shared/payer.ts'
import { type PayViewDeps, readPayView } from './pay-service.ts'

/** Cancels for the payer. @throws ORDER_STATE_CONFLICT when money arrived or is on its way, or the order has ended */
export async function cancelUnpaid(
  deps: PayViewDeps & OrderDeps,
  request: FastifyRequest,
  code: string,
): Promise<void> {
  if ((await readPayView(deps, code)).hasMoney) throw new AppError('ORDER_STATE_CONFLICT')
  await endOrder(deps, contextAs(request, payerOf(code)), code, 'cancel')
}
