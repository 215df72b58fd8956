import { readFileSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import { type Command, textOf, UsageError } from '../command.ts'
import { connect } from '../connection.ts'

type Jwk = { kty: string; crv: string; x: string; kid?: string }
type Receipt = { receipt: unknown; jws: string }

const REASONS: Record<string, string> = {
  ENOENT: 'there is no such file',
  EACCES: 'you may not read it',
  EISDIR: 'it is a folder',
}

const decode = (text: string): Uint8Array<ArrayBuffer> => Uint8Array.from(Buffer.from(text, 'base64url'))
const parse = (text: string): Record<string, unknown> => JSON.parse(Buffer.from(text, 'base64url').toString('utf8'))

/** Verifies a compact JWS with Ed25519, and that its payload matches the receipt. @returns the payload @throws Error */
export async function verifyReceipt({ receipt, jws }: Receipt, keys: Jwk[]): Promise<unknown> {
  const [head = '', payload = '', signature = ''] = jws.split('.')
  const { alg, kid } = parse(head)
  if (alg !== 'EdDSA') throw new Error(`The receipt is signed by ${String(alg)}, not by EdDSA.`)
  const fitting = keys.filter((key) => kid === undefined || key.kid === kid)
  if (fitting.length === 0) throw new Error(`The service knows no key ${String(kid)}.`)
  for (const key of fitting) {
    const { kty, crv, x } = key
    const jwk = { kty, crv, x }
    const imported = await crypto.subtle.importKey('jwk', jwk, { name: 'Ed25519' }, false, ['verify'])
    const isGood = await crypto.subtle.verify(
      'Ed25519',
      imported,
      decode(signature),
      new TextEncoder().encode(`${head}.${payload}`),
    )
    if (!isGood) continue
    if (!isDeepStrictEqual(parse(payload), receipt))
      throw new Error('The signature is valid, but the receipt says something else.')
    return receipt
  }
  throw new Error('The signature is invalid: the receipt was changed, or another service signed it.')
}

/** @throws UsageError */
function readJson(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch (error) {
    const { code } = error as { code?: string }
    if (error instanceof SyntaxError) throw new UsageError(`${file} is not JSON.`)
    throw new UsageError(`${file} cannot be read: ${REASONS[code ?? ''] ?? code}.`)
  }
}

async function readKeys(source: string): Promise<Jwk[]> {
  const set = /^https?:/.test(source) ? await (await fetch(source)).json() : readJson(source)
  return (set as { keys: Jwk[] }).keys
}

export const receipt: Command = {
  name: 'verify-receipt',
  summary: 'Check the signature of a receipt',
  takes: 'FILE',
  arity: [1, 1],
  flags: { jwks: { type: 'string', value: 'FILE', description: 'the public keys; default: those of the service' } },
  async run({ args, flags, show }) {
    const [file = ''] = args
    const given = readJson(file) as Receipt | null
    if (typeof given?.jws !== 'string') throw new UsageError(`${file} is not a signed receipt: save /receipt/….json.`)
    const keys = await readKeys(textOf(flags, 'jwks') ?? `${connect(flags).url}/.well-known/jwks.json`)
    await verifyReceipt(given, keys)
    show({ verified: true, receipt: given.receipt }, 'The receipt is genuine.')
  },
}
