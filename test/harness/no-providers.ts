import { type Providers, startProviders } from '../../sandbox/providers/server.ts'
import { NO_WALLET } from '../../sandbox/providers/wallet.ts'

/** A sandbox that imitates no provider: beside it, a service in a process of its own starts none. */
export const startNoProviders = (): Promise<Providers> => startProviders({ port: 0, chain: NO_WALLET })
