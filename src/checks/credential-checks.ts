import { randomBytes } from 'node:crypto'
import type { PaymentKey } from '../channels/channel.ts'
import { type ChannelKind, readSettings, settingsOfEnv } from '../channels/kind.ts'
import { CHANNEL_KINDS } from '../channels/kinds.ts'
import { ProviderRefusal, ProviderTrouble } from '../channels/provider-errors.ts'
import { openProviderHttp } from '../channels/provider-http.ts'
import { MINUTE, systemClock } from '../kernel/clock.ts'
import { bad, type Check, type CheckResult, good } from './check.ts'

type Provider = Readonly<Record<string, string>>

/** A payment that the provider cannot know: asking about it needs valid credentials and changes nothing. */
function unknownPayment(): PaymentKey & { providerReference: string } {
  const reference = randomBytes(13).toString('hex')
  return {
    companyId: '0'.repeat(24),
    merchantReference: reference,
    providerReference: reference,
    network: null,
    due: { asset: 'USDC', units: 1_000_000n },
    fiat: { asset: 'EUR', units: 100n },
    expiresAt: new Date(Date.now() + MINUTE),
  }
}

const judge = (kind: ChannelKind, error: unknown): Omit<CheckResult, 'name'> => {
  if (error instanceof ProviderTrouble) return bad(`No answer: ${error.message}.`, 'Check the address and the network.')
  if (!(error instanceof ProviderRefusal)) throw error
  if (error.reason === 'credentials' || error.reason === 'account')
    return bad(`The provider refuses the account: ${error.message}`, `Check the CHANNEL_${kind.env}_ variables.`)
  if (error.reason === 'clock') return bad('The provider refuses our time.', 'Run a time service on this machine.')
  return good('The provider accepts the credentials.')
}

const credentialCheck = (kind: ChannelKind, values: Readonly<Record<string, string>>, live: boolean): Check => ({
  name: `credentials ${kind.id}`,
  async run() {
    const secrets = Object.entries(values).flatMap(([name, value]) => (kind.settings[name]?.secret ? [value] : []))
    const { http, close } = openProviderHttp({ secrets })
    try {
      const context = { http, clock: systemClock, live }
      if (kind.probe) await kind.probe(values, context, unknownPayment())
      else await kind.open(values, context).fetchPayment(unknownPayment())
      return good('The provider accepts the credentials.')
    } catch (error) {
      return judge(kind, error)
    } finally {
      await close()
    }
  },
})

/** One check for each provider that is set up: a signed question about a payment that does not exist. */
export function credentialChecks({ provider, live }: { provider: Provider; live: boolean }): Check[] {
  return CHANNEL_KINDS.flatMap((kind) => {
    const reading = readSettings(kind, settingsOfEnv(kind, provider))
    if (reading.outcome !== 'set' || kind.isOffered?.(reading.values) === false) return []
    return [credentialCheck(kind, reading.values, live)]
  })
}
