import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Envelope, ok } from '../http/envelope.ts'
import { invalid } from '../kernel/errors.ts'
import { type Fiat, formatDecimal, isAsset, RATE_EXPONENT } from '../kernel/money.ts'
import { Type } from '../kernel/schema.ts'
import type { Rates } from './rate-service.ts'

const ExchangeInfo = Type.Object({
  price: Type.Number({ description: 'Units of `toAsset` for one unit of `fromAsset`.' }),
  fromAsset: Type.String(),
  toAsset: Type.String(),
  source: Type.String({ description: 'The price sources whose median this is.' }),
  updatedAt: Type.String({ format: 'date-time' }),
})

export const rateRoutes: FastifyPluginAsyncTypebox<{ rates: Rates; fiatAssets: readonly Fiat[] }> = async (
  app,
  { rates, fiatAssets },
) => {
  app.get(
    '/exchangeInfo',
    {
      config: { permission: 'rates.read' },
      schema: {
        operationId: 'getExchangeInfo',
        summary: 'Exchange rate of a currency',
        tags: ['rates'],
        querystring: Type.Object({
          fromAsset: Type.String({ examples: ['EUR'] }),
          toAsset: Type.String({ examples: ['USDC'] }),
        }),
        response: { 200: Envelope(ExchangeInfo) },
      },
    },
    async ({ query }) => {
      const from = query.fromAsset.toUpperCase()
      const to = query.toAsset.toUpperCase()
      if (!isAsset(from) || from === 'USDC' || !fiatAssets.includes(from)) {
        throw invalid('fromAsset', `must be one of: ${fiatAssets.join(', ')}`)
      }
      if (to !== 'USDC') throw invalid('toAsset', 'must be USDC')
      const quote = await rates.quote(from)
      return ok({
        price: Number(formatDecimal(quote.rate, RATE_EXPONENT)),
        fromAsset: from,
        toAsset: to,
        source: quote.sources.join(', '),
        updatedAt: quote.at.toISOString(),
      })
    },
  )
}
