import { randomBytes } from 'node:crypto'
import type { Db, Tx } from '../db/db.ts'
import { withoutHolding } from '../db/held.ts'
import { type Clock, isYounger, MINUTE, SECOND } from '../kernel/clock.ts'
import { AppError } from '../kernel/errors.ts'
import { newId } from '../kernel/ids.ts'
import type { Vault } from '../kernel/vault.ts'
import {
  deleteServerKeys,
  insertServerKey,
  listServerKeys,
  lockServerKeys,
  type ServerKeyRow,
  updateServerKeysRetired,
} from './server-key-queries.ts'

const PURPOSES = ['access-token', 'audit', 'receipt', 'webhook-id'] as const
export type KeyPurpose = (typeof PURPOSES)[number]
export type ServerKey = { id: string; key: Buffer }

export type ServerKeys = {
  /**
   * The key that signs now; made at first use, once for all nodes.
   * @param tx for callers that hold a transaction
   */
  current(purpose: KeyPurpose, tx?: Tx): Promise<ServerKey>
  /** Creates missing keys and loads them, so that transactions find them cached. */
  prepare(): Promise<void>
  /** A key that may still verify. */
  find(purpose: KeyPurpose, id: string): Promise<ServerKey | undefined>
  /** Every key of a purpose that may still verify. */
  list(purpose: KeyPurpose): Promise<readonly ServerKey[]>
  /** A new key signs from now on; the old one verifies until what it signed has expired. */
  rotate(tx: Tx, purpose: Exclude<KeyPurpose, 'webhook-id'>): Promise<ServerKey>
}

/** Signatures by these keys never expire, so the keys verify forever; ids of webhooks repeat forever. */
const KEPT: readonly string[] = ['audit', 'receipt', 'webhook-id']

/** A retired key verifies this much longer than a token lives: nodes learn of the new key within seconds. */
const KEY_OVERLAP_MS = 15 * MINUTE
const MAX_AGE_MS = 5 * SECOND

/** The audit log's view of the keys. */
export const auditKeysOf = (keys: ServerKeys) => ({
  current: (tx: Tx) => keys.current('audit', tx),
  find: (id: string) => keys.find('audit', id),
})

export const serverKeyContext = (id: string): string => `server-key:${id}`

type Opened = ServerKey & { purpose: string; retiredAt: number | null }

const signs = (purpose: KeyPurpose) => (key: Opened) => key.purpose === purpose && key.retiredAt === null
const missingIn = (keys: readonly Opened[]): KeyPurpose[] => PURPOSES.filter((one) => !keys.some(signs(one)))

/** The server's own keys: kept in the database, sealed by the master key, shared by all nodes. */
export function openServerKeys({ db, vault, clock }: { db: Db; vault: Vault; clock: Clock }): ServerKeys {
  let known: Opened[] | undefined
  let loadedAt = 0
  let loading: Promise<Opened[]> | undefined

  const open = (row: ServerKeyRow): Opened => ({
    id: row.id,
    purpose: row.purpose,
    key: Buffer.from(vault.open(row.sealed, serverKeyContext(row.id)), 'base64'),
    retiredAt: row.retiredAt?.getTime() ?? null,
  })
  const load = (): Promise<Opened[]> => {
    const read = async () => (await listServerKeys(db, new Date(clock() - KEY_OVERLAP_MS))).map(open)
    loading ??= read()
      .then(async (found) => {
        if (missingIn(found).length > 0) await makeMissing()
        known = missingIn(found).length > 0 ? await read() : found
        loadedAt = clock()
        return known
      })
      .finally(() => {
        loading = undefined
      })
    return loading
  }
  /** Answers from a stale copy and reloads in the background: the request may hold the last connection. */
  const list = async (): Promise<Opened[]> => {
    if (known === undefined) return load()
    if (!isYounger(loadedAt, MAX_AGE_MS, clock())) void withoutHolding(load).catch(() => {})
    return known
  }
  const make = async (tx: Tx, purpose: KeyPurpose, key: Buffer = randomBytes(32)): Promise<ServerKey> => {
    const id = newId(clock())
    const sealed = vault.seal(key.toString('base64'), serverKeyContext(id))
    await insertServerKey(tx, { id, purpose, sealed, createdAt: new Date(clock()) })
    return { id, key }
  }
  /** The key of webhook ids begins as older versions derive it, so that ids of before repeat, and never changes. */
  const makeMissing = (): Promise<void> =>
    db.tx(async (tx) => {
      await lockServerKeys(tx)
      const rows = await listServerKeys(tx, new Date(clock()))
      const sealed = rows[0]?.sealed ?? vault.sealPrefix
      for (const purpose of missingIn(rows.map(open)))
        await make(tx, purpose, purpose === 'webhook-id' ? vault.deriveAs(sealed, purpose) : undefined)
    })
  const current = async (purpose: KeyPurpose, tx?: Tx): Promise<ServerKey> => {
    const isOld = !KEPT.includes(purpose) && !isYounger(loadedAt, MAX_AGE_MS, clock())
    const keys = tx && known === undefined ? (await listServerKeys(tx, new Date(clock()))).map(open) : undefined
    const key = (keys ?? (isOld ? await load() : await list())).find(signs(purpose))
    if (key) return key
    // the start could not make it, because the database was away
    void withoutHolding(load).catch(() => {})
    throw new AppError('DATABASE_UNAVAILABLE', { retryAfter: 5, cause: `no ${purpose} key yet` })
  }
  return {
    current,
    async prepare() {
      await load()
    },
    async find(purpose, id) {
      const fits = (key: Opened): boolean =>
        key.purpose === purpose &&
        key.id === id &&
        (key.retiredAt === null || KEPT.includes(purpose) || clock() - key.retiredAt < KEY_OVERLAP_MS)
      const key = (await list()).find(fits)
      if (key || isYounger(loadedAt, SECOND, clock())) return key
      return (await load()).find(fits)
    },
    list: async (purpose) => (await load()).filter((key) => key.purpose === purpose),
    async rotate(tx, purpose) {
      await lockServerKeys(tx)
      await updateServerKeysRetired(tx, purpose, new Date(clock()))
      if (!KEPT.includes(purpose)) await deleteServerKeys(tx, purpose, new Date(clock() - KEY_OVERLAP_MS))
      const key = await make(tx, purpose)
      tx.afterCommit(() => {
        loadedAt = 0
      })
      return key
    },
  }
}
