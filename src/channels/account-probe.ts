import { randomBytes } from 'node:crypto'
import { type Clock, MINUTE } from '../kernel/clock.ts'
import type { PaymentKey } from './channel.ts'
import type { ChannelContext, ChannelKind } from './kind.ts'
import { isForOperator, ProviderRefusal, ProviderTrouble } from './provider-errors.ts'
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

type Values = Readonly<Record<string, string>>
type Place = { clock: Clock; live: boolean }

/** Queries the provider, signed, with credentials that may not be saved yet. */
async function askWith<Answer>(
  kind: ChannelKind,
  values: Values,
  { clock, live }: Place,
  ask: (context: ChannelContext) => Promise<Answer>,
): Promise<Answer> {
  const secrets = Object.entries(values).flatMap(([name, value]) => (kind.settings[name]?.secret ? [value] : []))
  const { http, close } = openProviderHttp({ secrets })
  try {
    return await ask({ http, clock, live })
  } finally {
    await close()
  }
}

/** Queries the provider about a payment that does not exist. */
export async function probeAccount(kind: ChannelKind, values: Values, place: Place): Promise<AccountVerdict> {
  const unknown = unknownPayment(place.clock())
  try {
    await askWith(kind, values, place, (context) =>
      kind.probe ? kind.probe(values, context, unknown) : kind.open(values, context).fetchPayment(unknown),
    )
    return { outcome: 'accepted', reason: null }
  } catch (error) {
    return judge(error)
  }
}

/**
 * Whether the account with these credentials has the payment. `refused`: the provider does not take them, which says
 * nothing of their account; `silent`: no answer.
 */
export type Knowledge = 'known' | 'strange' | 'refused' | 'silent'

export async function askAboutPayment(
  kind: ChannelKind,
  values: Values,
  place: Place,
  payment: PaymentKey & { providerReference: string },
): Promise<Knowledge> {
  try {
    const report = await askWith(kind, values, place, (context) => kind.open(values, context).fetchPayment(payment))
    return report.outcome === 'unknown' ? 'strange' : 'known'
  } catch (error) {
    if (!(error instanceof ProviderRefusal)) return 'silent'
    return isForOperator(error.reason) ? 'refused' : 'strange'
  }
}
