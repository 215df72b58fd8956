import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { makeCertificate } from './certificates.ts'

/** As the sources of live mode answer: docs.kraken.com (REST Ticker), docs.cdp.coinbase.com, the ECB's daily rates. */
function answerTo(path: string): string {
  if (path.startsWith('/0/public/Ticker')) return '{"error":[],"result":{"USDCEUR":{"a":["0.9259","1","1.000"]}}}'
  if (path.startsWith('/v2/exchange-rates')) return '{"data":{"currency":"EUR","rates":{"USDC":"1.08"}}}'
  const day = new Date().toISOString().slice(0, 10)
  const rates = ['USD', 'CHF', 'GBP'].map((currency) => `<Cube currency='${currency}' rate='1.08'/>`)
  return `<Cube><Cube time='${day}'>${rates.join('')}</Cube></Cube>`
}

/** The price sources of live mode on this machine, and the settings that name them. */
export async function startPriceSources() {
  const issuer = makeCertificate({ name: 'Authority' })
  const { cert, keyPem: key } = makeCertificate({ name: 'prices', hosts: ['localhost'], issuer })
  const folder = mkdtempSync(join(tmpdir(), 'prices-'))
  const authority = join(folder, 'ca.pem')
  writeFileSync(authority, issuer.cert)
  const server = createServer({ cert, key }, (request, answer) => void answer.end(answerTo(request.url ?? '')))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `https://localhost:${(server.address() as AddressInfo).port}`
  return {
    env: {
      ...{ RATE_KRAKEN_BASE_URL: url, RATE_COINBASE_BASE_URL: url, RATE_ECB_BASE_URL: url },
      NODE_EXTRA_CA_CERTS: authority,
    },
    stop: (): void => {
      server.close()
      server.closeAllConnections()
      rmSync(folder, { recursive: true })
    },
  }
}
