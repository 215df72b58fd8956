import { createHash, randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import formbody from '@fastify/formbody'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import type { Config } from '../../config/config.ts'
import type { RateLimits } from '../../http/limits/rate-limits.ts'
import { SECOND } from '../../kernel/clock.ts'
import { AppError } from '../../kernel/errors.ts'
import { LANGS, type Lang } from '../../kernel/lang.ts'
import { Type } from '../../kernel/schema.ts'
import type { Vault } from '../../kernel/vault.ts'
import { TEXTS } from '../../texts/languages.ts'
import { isOrderCode, type PayViewDeps, readPayView } from '../pay/pay-service.ts'
import { compressPage } from '../shared/compress.ts'
import { languageOf } from '../shared/language.ts'
import { checkSameOrigin, openPayerTokens } from '../shared/payer.ts'
import type { Hex, X402Relay } from '../x402/x402-relay.ts'
import { WALLET_SCRIPT_PATH } from './wallet-panel.ts'

/**
 * How far a chain has been read: its newest block, and how old what that says is. `removed`: the service reads it no
 * more, and will never answer.
 */
export type ChainRead = { block: number; ageMs: number } | { removed: true }

export type WalletDeps = Omit<PayViewDeps, 'payerTokens'> & {
  config: Pick<Config, 'payUrl'>
  vault: Vault
  relays: readonly X402Relay[]
  limits: Pick<RateLimits, 'checkRelay'>
  /** Null: no block yet, or payments do not know yet of all that is read. */
  readChain(chainId: number): Promise<ChainRead | null>
}

const FILE = join(import.meta.dirname, '../../../web/pay/wallet.js')
const MAX_AGE_SECONDS = 600
/** Validity of a payer's signature; the relayer submits it at once. */
const VALID_MS = 600 * SECOND
/** From now on, with what clocks differ by: before that the page must not let a payer pay again. */
const USABLE_SECONDS = VALID_MS / SECOND + 60

/** The script in one language, without comments and indentation. */
function readScripts(): Readonly<Record<Lang, { text: string; etag: string }>> {
  const source = readFileSync(FILE, 'utf8')
    .replace(/^\s*\/\*[\s\S]*?\*\/\s*\n/gm, '')
    .replace(/^\s*\/\/.*\n/gm, '')
    .replace(/^\s+/gm, '')
  const scripts = LANGS.map((lang) => {
    const text = source.replace("'__WORDS__'", () => JSON.stringify(TEXTS[lang].wallet))
    return [lang, { text, etag: `"${createHash('sha256').update(text).digest('base64url').slice(0, 22)}"` }] as const
  })
  return Object.fromEntries(scripts) as Record<Lang, { text: string; etag: string }>
}

const Whole = Type.String({ pattern: '^[0-9]{1,30}$' })
const AskBody = Type.Object({
  code: Type.String({ maxLength: 100 }),
  token: Type.String({ maxLength: 100 }),
  network: Type.String({ pattern: '^[1-9][0-9]{0,14}$' }),
  from: Type.String({ pattern: '^0x[0-9a-fA-F]{40}$' }),
})
const ReadQuery = Type.Object({ network: Type.String({ pattern: '^[1-9][0-9]{0,9}$' }) })
const SubmitBody = Type.Object({
  ...AskBody.properties,
  value: Whole,
  validBefore: Whole,
  nonce: Type.String({ pattern: '^0x[0-9a-f]{64}$' }),
  signature: Type.String({ pattern: '^0x[0-9a-fA-F]{130}$' }),
})

const OPEN = { open: true, page: true } as const
const FIELDS = [
  { name: 'from', type: 'address' },
  { name: 'to', type: 'address' },
  { name: 'value', type: 'uint256' },
  { name: 'validAfter', type: 'uint256' },
  { name: 'validBefore', type: 'uint256' },
  { name: 'nonce', type: 'bytes32' },
]
const DOMAIN_FIELDS = [
  { name: 'name', type: 'string' },
  { name: 'version', type: 'string' },
  { name: 'chainId', type: 'uint256' },
  { name: 'verifyingContract', type: 'address' },
]

type Asked = { code: string; token: string; network: string }

/** Wallets in the payer's browser: their script, and payments by signature (EIP-3009) that our relayer submits. */
export const walletRoutes: FastifyPluginAsyncTypebox<WalletDeps> = async (app, deps) => {
  const scripts = readScripts()
  const payerTokens = openPayerTokens(deps.vault)
  const viewDeps: PayViewDeps = { ...deps, payerTokens }
  await app.register(formbody)

  /** What the order still needs on this chain. @throws ORDER_NOT_FOUND, ORDER_STATE_CONFLICT, CHANNEL_NOT_AVAILABLE */
  const readAsked = async (request: FastifyRequest, { code, token, network }: Asked) => {
    checkSameOrigin(request, deps.config.payUrl)
    if (!isOrderCode(code)) throw new AppError('ORDER_NOT_FOUND')
    if (!payerTokens.fits(code, token)) throw new AppError('CROSS_SITE_REQUEST')
    const relay = deps.relays.find(({ chainId }) => chainId === Number(network))
    const view = await readPayView(viewDeps, code)
    const { payment } = view
    const to = payment?.instructions?.toAddress
    if (!relay || !payment || payment.network?.id !== relay.chainId || !to) throw new AppError('CHANNEL_NOT_AVAILABLE')
    if (!view.open || payment.missing.units === 0n) throw new AppError('ORDER_STATE_CONFLICT')
    if (payment.missing.units < relay.minUnits) throw new AppError('CHANNEL_NOT_AVAILABLE')
    const asked = { reference: view.orderId, to: to as Hex, units: payment.missing.units }
    return { relay, asked, companyId: view.companyId }
  }

  app.get(WALLET_SCRIPT_PATH, { config: OPEN, schema: { hide: true } }, async (request, reply) => {
    const { text, etag } = scripts[languageOf(request)]
    void reply.headers({
      etag,
      'content-type': 'text/javascript; charset=utf-8',
      'cache-control': `public, max-age=${MAX_AGE_SECONDS}`,
    })
    if (request.headers['if-none-match'] === etag) return reply.code(304).send()
    return reply.send(await compressPage(request, reply, text))
  })

  // what is in a block that is not read yet may have paid: the page offers no second payment before it is
  app.get('/pay/read', { config: OPEN, schema: { hide: true, querystring: ReadQuery } }, async (request, reply) => {
    const read = await deps.readChain(Number(request.query.network))
    if (read === null) throw new AppError('CHANNEL_NOT_AVAILABLE')
    return reply.header('cache-control', 'no-store').send(read)
  })

  app.post('/pay/authorization', { config: OPEN, schema: { hide: true, body: AskBody } }, async (request, reply) => {
    const { relay, asked } = await readAsked(request, request.body)
    await relay.checkNoneUnderWay(asked)
    const { to, units } = asked
    const domain = { ...(await relay.domain()), chainId: relay.chainId, verifyingContract: relay.token }
    const validBefore = String(Math.floor((deps.clock() + VALID_MS) / SECOND))
    const nonce = `0x${randomBytes(32).toString('hex')}`
    const message = { from: request.body.from, to, value: String(units), validAfter: '0', validBefore, nonce }
    const types = { EIP712Domain: DOMAIN_FIELDS, TransferWithAuthorization: FIELDS }
    const typedData = { domain, types, primaryType: 'TransferWithAuthorization', message }
    return reply.header('cache-control', 'no-store').send({ typedData, usableSeconds: USABLE_SECONDS })
  })

  app.post(
    '/pay/authorization/submit',
    { config: OPEN, schema: { hide: true, body: SubmitBody } },
    async (request, reply) => {
      const { from, value, validBefore, nonce, signature } = request.body
      const { relay, asked, companyId } = await readAsked(request, request.body)
      // only the amount that the page asked for: any other would underpay or overpay the order
      if (BigInt(value) !== asked.units) throw new AppError('ORDER_STATE_CONFLICT')
      const authorization = {
        ...{ ...asked, from: from as Hex, validAfter: 0n, validBefore: BigInt(validBefore) },
        ...{ nonce: nonce as Hex, signature: signature as Hex },
      }
      const result = await relay.submit(authorization, () => deps.limits.checkRelay(request, reply, companyId))
      const { outcome } = result
      const txHash = outcome === 'refused' ? null : result.txHash
      request.log.info({ outcome, network: relay.chainId }, 'a payer’s authorization was submitted')
      return reply.header('cache-control', 'no-store').send({ outcome, txHash })
    },
  )
}
