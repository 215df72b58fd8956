export type { Api, Data } from './api.ts'
export { Comptoir, type Created, type FeedEvent, type Instructions, type Refund } from './comptoir.ts'
export { ComptoirError, type ComptoirErrorCode, type ErrorDetail, isComptoirError, isTemporary } from './errors.ts'
export { type ComptoirEvent, EVENT_TYPES, type EventType } from './generated/events.ts'
export { type ErrorCode, ORDER_STATUSES, type Order } from './generated/schemas.ts'
export { List } from './list.ts'
export { type DeviceCode, type DeviceKey, type DeviceLoginOptions, loginByDevice } from './login.ts'
export type { CallOptions, ComptoirOptions, Ignored } from './transport.ts'
export { type OrderStatus, WaitError, type WaitOptions } from './wait.ts'
export {
  signTestWebhook,
  type TestWebhook,
  type VerifyOptions,
  verifyWebhook,
  type WebhookErrorCode,
  type WebhookHeaders,
  type WebhookPayload,
  WebhookVerificationError,
} from './webhooks.ts'
