import { Agent, request } from 'undici'
import {
  concat,
  getAddress,
  hashStruct,
  keccak256,
  publicKeyToAddress,
  recoverAddress,
  serializeTransaction,
} from 'viem/utils'
import { type Hex, RpcError } from '../endpoints/rpc.ts'
import type { Signer, TypedData, UnsignedTransaction } from './signer.ts'

const DOMAIN_FIELDS = [
  { name: 'name', type: 'string' },
  { name: 'version', type: 'string' },
  { name: 'chainId', type: 'uint256' },
  { name: 'verifyingContract', type: 'address' },
]
const ROOT = '/api/v1/eth1'
const TIMEOUT_MS = 10_000
/** Enough for a list of a few thousand keys. */
const MAX_ANSWER_BYTES = 512 * 1024

/** The bytes whose keccak256 is the EIP-712 hash. */
function typedDataBytes({ domain, types, primaryType, message }: TypedData): Hex {
  const domainHash = hashStruct({
    data: domain,
    primaryType: 'EIP712Domain',
    types: { EIP712Domain: DOMAIN_FIELDS },
  })
  return concat(['0x1901', domainHash, hashStruct({ data: message, primaryType, types })])
}

/** Web3Signer was unreachable or failed the request: nothing was signed, so the request is retried. */
const trouble = (words: string, cause?: unknown): RpcError =>
  new RpcError('unknown', `Web3Signer: ${words}`, null, cause)

/** A client of one Web3Signer. Its URL may hold credentials and never appears in a message. */
function openClient(url: string) {
  const { origin, pathname, username, password } = new URL(url)
  const base = `${origin}${pathname.replace(/\/+$/, '')}`
  const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
  const credentials = username === '' ? {} : { authorization: `Basic ${Buffer.from(pair).toString('base64')}` }
  const dispatcher = new Agent({ maxResponseSize: MAX_ANSWER_BYTES })
  return async (path: string, body?: unknown): Promise<string> => {
    const question = body === undefined ? {} : { method: 'POST' as const, body: JSON.stringify(body) }
    const headers = { ...credentials, ...(body === undefined ? {} : { 'content-type': 'application/json' }) }
    try {
      const answer = await request(base + path, {
        ...{ ...question, headers, dispatcher, signal: AbortSignal.timeout(TIMEOUT_MS) },
      })
      const text = await answer.body.text()
      if (answer.statusCode !== 200) throw trouble(`it answers ${answer.statusCode}`)
      return text.trim()
    } catch (error) {
      if (error instanceof RpcError) throw error
      const { name } = error as Error
      if (name === 'ResponseExceededMaxSizeError') throw trouble(`an answer of more than ${MAX_ANSWER_BYTES} bytes`)
      throw trouble(name === 'TimeoutError' ? `no answer within ${TIMEOUT_MS} ms` : 'no answer', error)
    }
  }
}

/**
 * A key kept by Consensys Web3Signer (docs.web3signer.consensys.io, REST API, eth1 mode): it signs keccak256 of the
 * data and answers r, s, v. Each signature is verified before it is used.
 * @param address the address of the key
 */
export function web3signer({ url, address: given }: { url: string; address: string }): Signer {
  const address = getAddress(given) as Hex
  const ask = openClient(url)
  let known: Promise<string> | undefined

  const findKey = async (): Promise<string> => {
    const text = await ask(`${ROOT}/publicKeys`)
    let keys: unknown
    try {
      keys = JSON.parse(text)
    } catch {
      throw trouble('it does not list its keys')
    }
    const list = Array.isArray(keys) ? keys.filter((key) => /^0x[0-9a-f]{128}$/i.test(String(key))).map(String) : []
    const key = list.find((one) => publicKeyToAddress(`0x04${one.slice(2)}`) === address)
    if (key === undefined) throw trouble(`it does not have the key of ${address}`)
    return key
  }

  const publicKey = (): Promise<string> => {
    known ??= findKey()
    known.catch(() => {
      known = undefined
    })
    return known
  }

  const sign = async (data: Hex): Promise<Hex> => {
    const signature = await ask(`${ROOT}/sign/${await publicKey()}`, { data })
    if (!/^0x[0-9a-f]{128}(1b|1c)$/i.test(signature)) throw trouble('its answer is not a signature')
    const signer = await recoverAddress({ hash: keccak256(data), signature: signature as Hex })
    if (signer !== address) throw trouble(`the signature is not one of ${address}`)
    return signature as Hex
  }

  return {
    address,
    check: findKey,
    signTypedData: (data) => sign(typedDataBytes(data)),
    async signTransaction(transaction: UnsignedTransaction) {
      const unsigned = { ...transaction, type: 'eip1559' } as const
      const signature = await sign(serializeTransaction(unsigned))
      const [r, s, v] = [signature.slice(2, 66), signature.slice(66, 130), signature.slice(130)]
      return serializeTransaction(unsigned, { r: `0x${r}`, s: `0x${s}`, yParity: v.toLowerCase() === '1c' ? 1 : 0 })
    },
  }
}
