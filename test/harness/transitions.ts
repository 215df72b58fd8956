import { openAnnounce, openTransition, type TransitionOrder } from '../../src/orders/order-transition.ts'
import { type TestService, webhookIdKeyOf } from './service.ts'

/** Moves orders as the service does, beside it: nothing is woken, and no receipt is mailed. */
export function openTransitionsOf(host: TestService): TransitionOrder {
  const deps = {
    clock: Date.now,
    webhookIdKey: webhookIdKeyOf(host),
    payUrl: host.config.payUrl,
    signals: { onDelivery: () => {}, onChange: () => {} },
  }
  return openTransition(deps, openAnnounce(deps))
}
