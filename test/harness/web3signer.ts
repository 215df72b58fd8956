import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Hex } from 'viem'
import { generatePrivateKey, privateKeyToAccount, sign } from 'viem/accounts'
import { isHex, keccak256 } from 'viem/utils'

/** How the signer misbehaves: its proxy is down, a page, silence, another key's signature, a cut one, megabytes. */
export type SignerFault = 'unavailable' | 'html' | 'hang' | 'other-key' | 'truncated' | 'huge' | null

export type Web3Signer = {
  url: string
  /** Its keys, as `publicKeys` lists them: 0x and the 64 bytes of the uncompressed key without their 04. */
  keys: { publicKey: Hex; address: Hex }[]
  /** The data of every signature that was made. */
  signed: { publicKey: Hex; data: Hex }[]
  fail(fault: SignerFault): void
  stop(): Promise<void>
}

const ROOT = '/api/v1/eth1'
const MAX_BODY_BYTES = 1024 * 1024

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes <= MAX_BODY_BYTES) chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

/** The data to sign; undefined when the body is not the documented `{"data": "0x…"}`. */
function readData(text: string): Hex | undefined {
  try {
    const { data } = Object(JSON.parse(text)) as { data?: unknown }
    return isHex(data) && data.length % 2 === 0 && data.length > 2 ? data : undefined
  } catch {
    return undefined
  }
}

const answer = (response: ServerResponse, status: number, text: string, type = 'text/plain; charset=utf-8'): void =>
  void response.writeHead(status, { 'content-type': type }).end(text)

/**
 * Stands in for Consensys Web3Signer in eth1 mode (docs.web3signer.consensys.io, REST API): `GET /upcheck`,
 * `GET /api/v1/eth1/publicKeys`, `POST /api/v1/eth1/sign/{publicKey}` with `{"data": "0x…"}`. It signs keccak256 of the
 * data, without the prefix that `eth_sign` adds, and answers r, s, v as text, v being 27 or 28. 400: the body is wrong;
 * 404: it does not have the key; 403: the Host header is not on its allow-list.
 */
export async function startWeb3Signer({ privateKeys = [generatePrivateKey()] }: { privateKeys?: Hex[] } = {}) {
  const stranger = generatePrivateKey()
  const held = privateKeys.map((privateKey) => {
    const { publicKey, address } = privateKeyToAccount(privateKey)
    return { privateKey, address, publicKey: `0x${publicKey.slice(4)}` as Hex }
  })
  const signed: Web3Signer['signed'] = []
  let fault: SignerFault = null

  const respond = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { method, url = '' } = request
    const text = await bodyOf(request)
    if (fault === 'hang') return
    if (fault === 'unavailable') return answer(response, 503, 'Service Unavailable')
    if (fault === 'huge') return answer(response, 200, 'f'.repeat(4 * MAX_BODY_BYTES))
    if (fault === 'html') return answer(response, 200, '<html><body>Sign in</body></html>', 'text/html')
    if (!/^(localhost|127\.0\.0\.1)(:\d+)?$/.test(request.headers.host ?? ''))
      return answer(response, 403, '{"message":"Host not authorized."}', 'application/json')
    if (method === 'GET' && url === '/upcheck') return answer(response, 200, 'OK')
    if (method === 'GET' && url === `${ROOT}/publicKeys`)
      return answer(response, 200, JSON.stringify(held.map(({ publicKey }) => publicKey)), 'application/json')
    const [, identifier] = /^\/api\/v1\/eth1\/sign\/([^/?]+)$/.exec(url) ?? []
    if (method !== 'POST' || identifier === undefined) return answer(response, 404, 'Resource not found')
    return signData(identifier, request, response, text)
  }

  const signData = async (
    identifier: string,
    { headers }: IncomingMessage,
    response: ServerResponse,
    text: string,
  ): Promise<void> => {
    const data = readData(text)
    if (data === undefined || !/^application\/json\b/.test(headers['content-type'] ?? ''))
      return answer(response, 400, 'Bad request format')
    const wanted = identifier.toLowerCase().replace(/^(0x)?/, '0x')
    const key = held.find(({ publicKey }) => publicKey === wanted)
    if (!key) return answer(response, 404, 'Public Key not found')
    const privateKey = fault === 'other-key' ? stranger : key.privateKey
    const signature = await sign({ hash: keccak256(data), privateKey, to: 'hex' })
    signed.push({ publicKey: key.publicKey, data })
    return answer(response, 200, fault === 'truncated' ? signature.slice(0, -2) : signature)
  }

  const server = createServer((request, response) => void respond(request, response))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const signer: Web3Signer = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    keys: held.map(({ publicKey, address }) => ({ publicKey, address })),
    signed,
    fail: (next) => {
      fault = next
    },
    async stop() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
  return signer
}
