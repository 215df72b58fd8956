import { readSettings, settingsOfEnv } from '../channels/kind.ts'
import { CHANNEL_KINDS } from '../channels/kinds.ts'
import { findUnknownVariables } from '../config/all-settings.ts'
import { type Config, ConfigError, type Env, readConfig } from '../config/config.ts'
import { findStoreFaults } from '../db/backup/places.ts'
import { parseXpub } from '../kernel/xpub.ts'
import { bad, type CheckResult, good } from './check.ts'
import { findRisks, RISKS } from './risks.ts'

export type Environment = { config: Config; results: CheckResult[]; refusals: string[]; warnings: string[] }

const channelNames = CHANNEL_KINDS.flatMap(({ env, settings }) =>
  Object.keys(settings).map((name) => `CHANNEL_${env}_${name}`),
)

const channelFaults = ({ provider }: Config): string[] =>
  CHANNEL_KINDS.flatMap((kind) => {
    const reading = readSettings(kind, settingsOfEnv(kind, provider))
    if (reading.outcome !== 'faulty') return []
    return reading.faults.map(({ name, message }) => `CHANNEL_${kind.env}_${name}: ${message}`)
  })

function channelMinutesFaults({ orders }: Config): string[] {
  const ids = CHANNEL_KINDS.map(({ id }) => id)
  const unknown = Object.keys(orders.channelMinutes).filter((name) => !ids.some((id) => id === name))
  return unknown.map((name) => `ORDER_CHANNEL_MINUTES: there is no channel "${name}"; choose from ${ids.join(', ')}`)
}

const xpubFaults = ({ chains }: Config): string[] =>
  chains.flatMap(({ chainId, xpub }) => {
    try {
      if (xpub !== null) parseXpub(xpub)
      return []
    } catch (error) {
      return [`CHAIN_${chainId}_XPUB: ${(error as Error).message}`]
    }
  })

function riskResults(config: Config): CheckResult[] {
  if (config.mode === 'sandbox') return []
  return Object.entries(findRisks(config)).map(([name, risk]) => {
    if (risk === null) return { name, ...good('Fine.') }
    const { message, fix } = risk
    if (config.acceptRisk.includes(name)) return { name, ...good(`Accepted: ${message}`) }
    return { name, ...bad(message, `${fix} Or take the risk: ACCEPT_RISK=${name}`) }
  })
}

/** Everything that can be checked from the environment alone: faults, and accepted risks. */
export function readEnvironment(env: Env): Environment {
  const { config, faults } = readConfig(env)
  const unknown = findUnknownVariables(env, channelNames)
  const isLive = config.mode === 'live'
  const strange = config.acceptRisk.filter((name) => !(RISKS as readonly string[]).includes(name))
  const wrong = [
    ...faults,
    ...channelFaults(config),
    ...channelMinutesFaults(config),
    ...xpubFaults(config),
    ...findStoreFaults(config),
    ...strange.map((name) => `ACCEPT_RISK: there is no risk "${name}"; choose from ${RISKS.join(', ')}`),
    ...(isLive ? unknown : []),
  ]
  const faultLines = [...new Set(wrong)]
  const risks = riskResults(config)
  const settings =
    faultLines.length === 0
      ? good('Every variable is understood.')
      : bad(faultLines.join('\n'), 'Correct these variables.')
  return {
    config,
    results: [{ name: 'settings', ...settings }, ...risks],
    refusals: [
      ...faultLines,
      ...risks.filter(({ ok }) => !ok).map(({ name, message, fix }) => `${name}: ${message} ${fix}`),
    ],
    warnings: isLive ? [] : unknown,
  }
}

/** The configuration for a start. @throws ConfigError with every refusal, one line each */
export function loadForStart(env: Env, say: (line: string) => void): Environment {
  const environment = readEnvironment(env)
  for (const warning of environment.warnings) say(`Warning: ${warning}`)
  if (environment.refusals.length > 0) throw new ConfigError(environment.refusals)
  return environment
}
