import type { FastifyInstance } from 'fastify'
import { startTicker, type Ticker } from '../kernel/ticker.ts'
import { READ_EVERY_MS } from './rate-freshness.ts'
import type { Rates } from './rate-service.ts'

/** Each process measures on its own how long a price has not moved, so each one that prices orders reads on its own. */
export function startReadings(app: FastifyInstance, rates: Rates): void {
  let readings: Ticker | undefined
  app.addHook('onReady', async () => {
    readings = startTicker('rates.read', READ_EVERY_MS, app.log, async () => void (await rates.readAgain()))
  })
  app.addHook('onClose', () => readings?.stop())
}
