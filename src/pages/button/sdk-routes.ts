import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { FastifyPluginAsync } from 'fastify'
import type { Config } from '../../config/config.ts'
import { compressPage } from '../shared/compress.ts'

const FILE = join(import.meta.dirname, '../../../web/sdkjs/sdk.js')
/** Shops' pages keep the URL for years; what it serves may change within this time. */
const MAX_AGE_SECONDS = 600

/** The script with its URLs filled in, without comments and indentation. */
function readScript({ baseUrl, payUrl }: Pick<Config, 'baseUrl' | 'payUrl'>): string {
  const origins = [...new Set([baseUrl, payUrl].map((url) => new URL(url).origin))]
  return readFileSync(FILE, 'utf8')
    .replace("'__BASE__'", JSON.stringify(baseUrl))
    .replace("['__ORIGINS__']", JSON.stringify(origins))
    .replace(/^\s*\/\*[\s\S]*?\*\/\s*\n/gm, '')
    .replace(/^\s*\/\/.*\n/gm, '')
    .replace(/^\s+/gm, '')
}

/** `{baseUrl}/sdk.js`: the buy button for any website. */
export const sdkRoutes: FastifyPluginAsync<{ config: Pick<Config, 'baseUrl' | 'payUrl'> }> = async (
  app,
  { config },
) => {
  const script = readScript(config)
  const etag = `"${createHash('sha256').update(script).digest('base64url').slice(0, 22)}"`
  app.get('/sdk.js', { config: { open: true, page: true }, schema: { hide: true } }, async (request, reply) => {
    void reply.headers({
      etag,
      'content-type': 'text/javascript; charset=utf-8',
      'cache-control': `public, max-age=${MAX_AGE_SECONDS}`,
      // the same bytes for everyone, without secrets: any website may load it, even with an integrity attribute
      'access-control-allow-origin': '*',
      'cross-origin-resource-policy': 'cross-origin',
    })
    if (request.headers['if-none-match'] === etag) return reply.code(304).send()
    return reply.send(await compressPage(request, reply, script))
  })
}
