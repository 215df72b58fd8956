import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import type { FastifyReply, FastifyRequest } from 'fastify'

const brotli = promisify(brotliCompress)
const zip = promisify(gzip)

/**
 * A page in the smallest encoding that the browser accepts. Only for pages that echo nothing from a stranger:
 * compressed together with a secret, that would let an attacker guess the secret from the length (BREACH).
 */
export async function compressPage(
  request: FastifyRequest,
  reply: FastifyReply,
  text: string,
): Promise<Buffer | string> {
  const accepted = String(request.headers['accept-encoding'] ?? '')
  void reply.header('vary', 'accept-encoding, accept-language')
  if (/\bbr\b/.test(accepted)) {
    void reply.header('content-encoding', 'br')
    return brotli(text, { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } })
  }
  if (/\bgzip\b/.test(accepted)) {
    void reply.header('content-encoding', 'gzip')
    return zip(text)
  }
  return text
}
