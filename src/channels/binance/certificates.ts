import { createPublicKey, type KeyObject } from 'node:crypto'
import { type Clock, HOUR, isYounger, SECOND } from '../../kernel/clock.ts'
import { textAt } from '../../kernel/json.ts'
import { ProviderTrouble } from '../provider-errors.ts'
import { type BinanceClient, PATHS } from './client.ts'

export type Certificates = {
  /**
   * Binance's key with this serial; undefined if Binance does not know it either.
   * @throws ProviderTrouble, ProviderRefusal when the keys are unavailable
   */
  find(serial: string): Promise<KeyObject | undefined>
}

const REFRESH_MS = HOUR
const HARD_EXPIRY_MS = 2 * HOUR
/**
 * Minimum time between queries: anyone may send callbacks, so neither an unknown serial nor a failed query may cause
 * one each time.
 */
const PAUSE_MS = 10 * SECOND

type Kept = { keys: Map<string, KeyObject>; fetchedAt: number }

function readKeys(data: unknown): Map<string, KeyObject> {
  if (!Array.isArray(data)) throw new ProviderTrouble('Binance answered no list of certificates')
  try {
    return new Map(
      data.map((item) => [textAt(item, 'certSerial') ?? '', createPublicKey(textAt(item, 'certPublic') ?? '')]),
    )
  } catch (cause) {
    throw new ProviderTrouble('Binance answered a certificate that cannot be read', { cause })
  }
}

/** Caches the keys for an hour, or two while they cannot be fetched; fetches once for an unknown serial. */
export function openCertificates(client: BinanceClient, clock: Clock): Certificates {
  let kept: Kept | null = null
  let fetching: Promise<Kept> | null = null
  let failed: { error: unknown; at: number } | null = null

  async function fetchKeys(): Promise<Kept> {
    const answer = await client.ask(PATHS.certificates, {})
    if (answer.outcome === 'refused') throw answer.refusal
    kept = { keys: readKeys(answer.data), fetchedAt: clock() }
    return kept
  }

  const refresh = async (): Promise<Kept> => {
    if (failed && isYounger(failed.at, PAUSE_MS, clock())) throw failed.error
    fetching ??= fetchKeys().finally(() => {
      fetching = null
    })
    try {
      return await fetching
    } catch (error) {
      failed = { error, at: clock() }
      throw error
    }
  }

  async function current(): Promise<Kept> {
    const old = kept
    if (old && isYounger(old.fetchedAt, REFRESH_MS, clock())) return old
    return refresh().catch((error: unknown) => {
      if (old && isYounger(old.fetchedAt, HARD_EXPIRY_MS, clock())) return old
      throw error
    })
  }

  return {
    async find(serial) {
      const { keys, fetchedAt } = await current()
      const known = keys.get(serial)
      if (known || isYounger(fetchedAt, PAUSE_MS, clock())) return known
      return (await refresh()).keys.get(serial)
    },
  }
}
