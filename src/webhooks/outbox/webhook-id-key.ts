import { createSecretKey, type KeyObject } from 'node:crypto'
import type { Tx } from '../../db/db.ts'

/** Makes the ids of webhooks; one for the whole life of the installation, whatever its master key is. */
export type WebhookIdKey = (tx: Tx) => Promise<KeyObject>

type Keys = { current(purpose: 'webhook-id', tx: Tx): Promise<{ id: string; key: Buffer }> }

export function openWebhookIdKey(keys: Keys): WebhookIdKey {
  let known: { id: string; key: KeyObject } | undefined
  return async (tx) => {
    const { id, key } = await keys.current('webhook-id', tx)
    if (known?.id !== id) known = { id, key: createSecretKey(key) }
    return known.key
  }
}
