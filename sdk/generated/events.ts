// Printed from the OpenAPI document by `npm run sdk`; do not edit.

import type { KycWebhook, OrderWebhook } from './schemas.ts'

/** Every event that is sent. */
export const EVENT_TYPES = [
  'order.initial',
  'order.pending',
  'order.awaiting',
  'order.waiting_chain_confirmation',
  'order.paid',
  'order.cancelled',
  'order.error',
  'order.expired',
  'order.kyt_failed',
  'order.refunding',
  'order.refunded',
  'order.full_refunded',
  'kyc.pending',
  'kyc.approved',
  'kyc.refused',
  'kyc.edd_completed',
] as const
export type EventType = (typeof EVENT_TYPES)[number]

/** A verified webhook; `type` tells what `data` is. */
export type ComptoirEvent =
  | { id: string; type: 'order.initial'; createdAt: string; data: OrderWebhook & { event: 'order.initial' } }
  | { id: string; type: 'order.pending'; createdAt: string; data: OrderWebhook & { event: 'order.pending' } }
  | { id: string; type: 'order.awaiting'; createdAt: string; data: OrderWebhook & { event: 'order.awaiting' } }
  | { id: string; type: 'order.waiting_chain_confirmation'; createdAt: string; data: OrderWebhook & { event: 'order.waiting_chain_confirmation' } }
  | { id: string; type: 'order.paid'; createdAt: string; data: OrderWebhook & { event: 'order.paid' } }
  | { id: string; type: 'order.cancelled'; createdAt: string; data: OrderWebhook & { event: 'order.cancelled' } }
  | { id: string; type: 'order.error'; createdAt: string; data: OrderWebhook & { event: 'order.error' } }
  | { id: string; type: 'order.expired'; createdAt: string; data: OrderWebhook & { event: 'order.expired' } }
  | { id: string; type: 'order.kyt_failed'; createdAt: string; data: OrderWebhook & { event: 'order.kyt_failed' } }
  | { id: string; type: 'order.refunding'; createdAt: string; data: OrderWebhook & { event: 'order.refunding' } }
  | { id: string; type: 'order.refunded'; createdAt: string; data: OrderWebhook & { event: 'order.refunded' } }
  | { id: string; type: 'order.full_refunded'; createdAt: string; data: OrderWebhook & { event: 'order.full_refunded' } }
  | { id: string; type: 'kyc.pending'; createdAt: string; data: KycWebhook & { event: 'kyc.pending' } }
  | { id: string; type: 'kyc.approved'; createdAt: string; data: KycWebhook & { event: 'kyc.approved' } }
  | { id: string; type: 'kyc.refused'; createdAt: string; data: KycWebhook & { event: 'kyc.refused' } }
  | { id: string; type: 'kyc.edd_completed'; createdAt: string; data: KycWebhook & { event: 'kyc.edd_completed' } }
  | { id: string; type: 'test'; createdAt: string; data: (OrderWebhook | KycWebhook) & { event: EventType; test: true } }
