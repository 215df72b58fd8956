import { isForOperator, ProviderRefusal, ProviderTrouble } from '../provider-errors.ts'
import { filledAt, type GateApi } from './api.ts'

type Offered = { chain: string; fullCurrType: string }

function readChains(data: unknown): Offered[] {
  const { chains } = (data ?? {}) as { chains?: unknown }
  if (!Array.isArray(chains)) return []
  return chains.flatMap((one) => {
    const chain = filledAt(one, 'chain')
    const fullCurrType = filledAt(one, 'full_curr_type') ?? filledAt(one, 'fullCurrType')
    return chain && fullCurrType ? [{ chain, fullCurrType }] : []
  })
}

/** An answer that is no list says nothing about the settings: the first order will. */
async function listChains(api: GateApi): Promise<Offered[]> {
  try {
    return readChains(await api.get('/v1/pay/address/chains', { currency: 'USDC' }))
  } catch (error) {
    const isSilent = error instanceof ProviderTrouble
    if (isSilent || (error instanceof ProviderRefusal && !isForOperator(error.reason))) return []
    throw error
  }
}

/**
 * Every order names a network of Gate's list (docs.gate.com, addresspayment/chainQuery).
 * @throws ProviderRefusal naming that list, if the network that is set is not on it
 */
export async function checkChain(api: GateApi, { chain, fullCurrType }: Offered): Promise<void> {
  const offered = await listChains(api)
  if (offered.length === 0) return
  if (offered.some((one) => one.chain === chain && one.fullCurrType === fullCurrType)) return
  const list = offered.map((one) => `${one.chain} (${one.fullCurrType})`).join(', ')
  throw new ProviderRefusal(
    'account',
    `Gate Pay takes USDC on ${list}, not on ${chain} (${fullCurrType}): set CHAIN and FULL_CURR_TYPE to one of these`,
  )
}
