import { EXPONENTS, type Fiat } from '../../kernel/money.ts'
import { choices, integer, optionalUrl, type Setting, SettingFault } from '../setting.ts'

export const FIATS = choices('FIAT_ASSETS', 'Currencies that orders may be in.', {
  fallback: 'EUR,CHF,XPF,USD,GBP',
  of: Object.keys(EXPONENTS).filter((asset): asset is Fiat => asset !== 'USDC'),
})

/** Which channels there are, checks `checks/environment.ts`: it knows them. */
const MINUTES_OF_CHANNEL = /^([a-z][a-z0-9-]{0,39})=([1-9][0-9]{0,4})$/

/** Paying by card or bank takes the payer more steps than a wallet. */
const channelMinutes: Setting<Readonly<Record<string, number>>> = {
  name: 'ORDER_CHANNEL_MINUTES',
  description: 'Minutes to pay through a provider, from acceptance, where that is longer than the order’s own time.',
  ...{ fallback: 'coinbase=30', absent: {} },
  read(given) {
    const entries = given
      .split(',')
      .filter(Boolean)
      .map((entry) => {
        const [, channel = '', minutes = ''] = MINUTES_OF_CHANNEL.exec(entry.trim()) ?? []
        if (channel === '') throw new SettingFault(`"${entry}" is not of the form <channel>=<minutes>`)
        return [channel, Number(minutes)]
      })
    return Object.fromEntries(entries)
  },
}

export const ORDERS = {
  channelMinutes,
  chainDustUnits: integer(
    'CHAIN_DUST_UNITS',
    'Millionths of a USDC: a smaller transfer is booked, but moves no order, and no lower price is offered on a chain.',
    {
      ...{ fallback: '10000', min: 0, max: 1_000_000_000 },
    },
  ),
  expiryMinutes: integer('ORDER_EXPIRY_MINUTES', 'Minutes to pay an order without alias.', {
    ...{ fallback: '5', min: 1, max: 44_640 },
  }),
  chainExpiryMinutes: integer('ORDER_CHAIN_EXPIRY_MINUTES', 'Minutes to pay from a wallet, from acceptance.', {
    ...{ fallback: '15', min: 1, max: 44_640 },
  }),
}

export const RATE_SOURCES = ['kraken', 'coinbase', 'binance', 'bitstamp', 'coingecko', 'ecb', 'fixed'] as const

export const RATES = {
  sources: choices(
    'RATE_SOURCES',
    `Any of ${RATE_SOURCES.join(', ')} (fixed: sandbox only). Some lack currencies: comptoir doctor names them.`,
    { fallback: { sandbox: 'fixed', live: 'kraken,coinbase,ecb' }, of: RATE_SOURCES as readonly string[] },
  ),
  maxAgeSeconds: integer('RATE_MAX_AGE_SECONDS', 'A rate older than this sells nothing.', {
    ...{ fallback: '60', min: 1, max: 86_400 },
  }),
  minSources: integer('RATE_MIN_SOURCES', 'How many sources must answer.', {
    ...{ fallback: { sandbox: '1', live: '2' }, min: 1, max: 7 },
  }),
  maxDeviationPercent: integer('RATE_MAX_DEVIATION_PERCENT', 'A source further from the median is left out.', {
    ...{ fallback: '2', min: 1, max: 50 },
  }),
}

/** `RATE_KRAKEN_BASE_URL` and the like. */
export const RATE_BASE_URLS = Object.fromEntries(
  RATE_SOURCES.filter((source) => source !== 'fixed').map((source) => [
    source,
    optionalUrl(`RATE_${source.toUpperCase()}_BASE_URL`, `Another address for the source ${source}.`),
  ]),
)
