import type { Channel } from '../channel.ts'
import { defineChannel, plain } from '../kind.ts'
import { openHosted } from '../whitepay/adapter.ts'
import { flag, settings, type WhitepayValues } from '../whitepay/settings.ts'
import { openWalletOrders } from './wallet-orders.ts'

const slugOf = ({ NON_CUSTODY_SLUG, SLUG }: WhitepayValues): string => NON_CUSTODY_SLUG || SLUG

/** The same account as `whitepay`, for payers who pay from their own wallet. */
export const whitepayNonCustody = defineChannel({
  id: 'whitepay-non-custody',
  env: 'WHITEPAY',
  settings: {
    ...settings,
    NON_CUSTODY: flag('true: offer whitepay-non-custody'),
    HOST_TO_HOST: flag('true: show the deposit address ourselves (the acquiring API) instead of Whitepay’s page'),
    HOST_TO_HOST_NETWORK: plain('the network that host-to-host deposits come on, in Whitepay’s words', 'BASE'),
  },
  isOffered: (values) => values.NON_CUSTODY === 'true',
  accountOf: slugOf,
  open(values, context): Channel {
    const slug = slugOf(values)
    const { api, orders, channel } = openHosted(values, context, { id: 'whitepay-non-custody', slug })
    if (values.HOST_TO_HOST !== 'true') return channel
    const network = values.HOST_TO_HOST_NETWORK
    return { ...channel, ...openWalletOrders({ api, orders, clock: context.clock, slug, network }) }
  },
})
