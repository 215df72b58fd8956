import { type AccountVerdict, probeAccount } from '../channels/account-probe.ts'
import { type ChannelKind, readSettings, settingsOfEnv } from '../channels/kind.ts'
import { CHANNEL_KINDS } from '../channels/kinds.ts'
import { systemClock } from '../kernel/clock.ts'
import { bad, type Check, type CheckResult, good } from './check.ts'

type Provider = Readonly<Record<string, string>>

const resultOf = (kind: ChannelKind, { outcome, reason }: AccountVerdict): Omit<CheckResult, 'name'> => {
  if (outcome === 'silent') return bad(`No answer: ${reason}.`, 'Check the address and the network.')
  if (outcome === 'refused')
    return bad(`The provider refuses the account: ${reason}`, `Check the CHANNEL_${kind.env}_ variables.`)
  if (outcome === 'clock') return bad('The provider refuses our time.', 'Run a time service on this machine.')
  return good('The provider accepts the credentials.')
}

const credentialCheck = (kind: ChannelKind, values: Readonly<Record<string, string>>, live: boolean): Check => ({
  name: `credentials ${kind.id}`,
  cure: `Check the CHANNEL_${kind.env}_ variables.`,
  run: async () => resultOf(kind, await probeAccount(kind, values, { clock: systemClock, live })),
})

/** One check per configured provider: a signed query about a payment that does not exist. */
export function credentialChecks({ provider, live }: { provider: Provider; live: boolean }): Check[] {
  return CHANNEL_KINDS.flatMap((kind) => {
    const reading = readSettings(kind, settingsOfEnv(kind, provider))
    if (reading.outcome !== 'set' || kind.isOffered?.(reading.values) === false) return []
    return [credentialCheck(kind, reading.values, live)]
  })
}
