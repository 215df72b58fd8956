import { randomBytes } from 'node:crypto'
import { type Clock, MINUTE } from '../kernel/clock.ts'
import type { PaymentKey } from './channel.ts'
import type { ChannelKind } from './kind.ts'
import { ProviderRefusal, ProviderTrouble } from './provider-errors.ts'
import { openProviderHttp } from './provider-http.ts'

/** A payment that the provider cannot know: querying it requires valid credentials and changes nothing. */
function unknownPayment(nowMs: number): PaymentKey & { providerReference: string } {
  const reference = randomBytes(13).toString('hex')
  return {
    companyId: '0'.repeat(24),
    merchantReference: reference,
    providerReference: reference,
    network: null,
    due: { asset: 'USDC', units: 1_000_000n },
    fiat: { asset: 'EUR', units: 100n },
    expiresAt: new Date(nowMs + MINUTE),
  }
}

/** A provider's verdict on credentials. `silent`: it did not answer, so nothing is known. */
export type AccountVerdict = {
  outcome: 'accepted' | 'refused' | 'clock' | 'silent'
  /** The provider's own words; null if it accepts. */
  reason: string | null
}

function judge(error: unknown): AccountVerdict {
  if (error instanceof ProviderTrouble) return { outcome: 'silent', reason: error.message }
  if (!(error instanceof ProviderRefusal)) throw error
  if (error.reason === 'credentials' || error.reason === 'account') return { outcome: 'refused', reason: error.message }
  if (error.reason === 'clock') return { outcome: 'clock', reason: error.message }
  // it recognises the credentials, but not the payment
  return { outcome: 'accepted', reason: null }
}

/** Queries the provider, signed, about a payment that does not exist. */
export async function probeAccount(
  kind: ChannelKind,
  values: Readonly<Record<string, string>>,
  { clock, live }: { clock: Clock; live: boolean },
): Promise<AccountVerdict> {
  const secrets = Object.entries(values).flatMap(([name, value]) => (kind.settings[name]?.secret ? [value] : []))
  const { http, close } = openProviderHttp({ secrets })
  try {
    const context = { http, clock, live }
    if (kind.probe) await kind.probe(values, context, unknownPayment(clock()))
    else await kind.open(values, context).fetchPayment(unknownPayment(clock()))
    return { outcome: 'accepted', reason: null }
  } catch (error) {
    return judge(error)
  } finally {
    await close()
  }
}
