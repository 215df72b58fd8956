import type { Rpc } from '../endpoints/rpc.ts'

/** symbol() and name() of ERC-20 */
const ASKED = ['0x95d89b41', '0x06fdde03']

/** Letters of other scripts that look like the Latin ones of "USD Coin" (Unicode TR 39, confusables). */
const TWINS: Readonly<Record<string, string>> = {
  ...{ ѕ: 's', Ѕ: 's', ԁ: 'd', Ԁ: 'd', с: 'c', С: 'c', Ϲ: 'c', ϲ: 'c', о: 'o', О: 'o', ο: 'o', Ο: 'o' },
  ...{ ս: 'u', Ս: 'u', υ: 'u', ᴜ: 'u', і: 'i', І: 'i', ι: 'i', Ι: 'i', в: 'b', В: 'b', Β: 'b', п: 'n', Ν: 'n', ե: 't' },
}

/** Whether a person would read a symbol or name as USDC, or as one of its bridged forms. */
export function readsLikeUsdc(text: string): boolean {
  const latin = [...text.normalize('NFKC')].map((letter) => TWINS[letter] ?? letter).join('')
  return /usdb?c|usdcoin/.test(latin.toLowerCase().replaceAll(/[^a-z]/g, ''))
}

/** Decodes a string, or the bytes32 of older tokens; '' for anything else. The contract's author chose the text. */
export function decodeText(answer: string): string {
  const bytes = Buffer.from(answer.slice(2), 'hex')
  if (bytes.length === 32) return bytes.toString('utf8').replaceAll('\0', '')
  if (bytes.length < 64 || bytes.readBigUInt64BE(24) !== 32n) return ''
  const length = bytes.readBigUInt64BE(56)
  return length > 100n ? '' : bytes.subarray(64, 64 + Number(length)).toString('utf8')
}

/** How we display such a token: never a bare "USDC", and nothing that could do harm on a screen. */
export function labelOf(token: string, symbol: string): string {
  const plain = symbol.replaceAll(/[^A-Za-z0-9.]/g, '').slice(0, 12)
  const short = `${token.slice(0, 6)}…${token.slice(-4)}`
  return plain === '' ? short : `${plain} (${short})`
}

export type TokenName = { label: string; isLookAlike: boolean }

/** Anyone can create tokens and send them around, so at most this many are asked for their names per round. */
export const MOST_TOKENS = 20

/** What the first twenty contracts call themselves. @throws RpcError */
export async function readTokenNames(
  rpc: Pick<Rpc, 'call'>,
  tokens: readonly string[],
): Promise<Map<string, TokenName>> {
  const names = new Map<string, TokenName>()
  for (const token of tokens.slice(0, MOST_TOKENS)) {
    const ask = (data: string) => rpc.call<string>('eth_call', { to: token, data }, 'latest').then(decodeText, () => '')
    const [symbol = '', name = ''] = await Promise.all(ASKED.map(ask))
    names.set(token, { label: labelOf(token, symbol), isLookAlike: readsLikeUsdc(symbol) || readsLikeUsdc(name) })
  }
  return names
}
