import type { Browser, BrowserContext } from 'playwright-core'
import { privateKeyToAccount } from 'viem/accounts'
import { PAYER } from '../../sandbox/chain/throwaway-keys.ts'
import { visit } from './browser.ts'
import type { TestChain } from './chain.ts'
import type { PayWorld } from './pay-world.ts'

/** What the wallet's owner does next. */
export type Owner = {
  /** The chain that the wallet is on. */
  chainId: number
  /** Chains that it knows. */
  known: number[]
  /** How its owner, or the wallet, answers a method instead of doing it: a code of EIP-1193. */
  refuses: Partial<Record<string, number>>
  /** Methods that it answers only then. */
  waits: Partial<Record<string, Promise<void>>>
  /** Every method that the page asked for. */
  asked: string[]
  /** What it gives as a signature instead of its own; null: it signs. */
  signature: string | null
  /** Happens elsewhere before the wallet says what its account holds. */
  meanwhile: (() => Promise<void>) | null
  /** What the page wanted to add, as it said it. */
  added: unknown[]
}

type Transaction = { from: string; to: `0x${string}`; data: `0x${string}`; value: string }
type Answer = { result?: unknown; error?: { code: number; message: string } }

/** Announces itself as EIP-6963 asks, and knows nothing but how to ask outside the page. */
const PROVIDER = `(() => {
  const provider = Object.freeze({ request: async ({ method, params }) => {
    const { result, error } = await window.askWallet(method, params ?? [])
    if (error) throw Object.assign(new Error(error.message), { code: error.code })
    return result
  } })
  const icon = 'data:image/svg+xml,' + encodeURIComponent('<svg xmlns="http://www.w3.org/2000/svg"><circle r="9"/></svg>')
  const info = Object.freeze({ uuid: 'f0e1', name: 'Test Wallet', rdns: 'test.wallet', icon })
  const announce = () => dispatchEvent(new CustomEvent('eip6963:announceProvider', { detail: Object.freeze({ info, provider }) }))
  addEventListener('eip6963:requestProvider', announce)
  announce()
})()`

/**
 * A wallet in every page of a context. It signs with a real key, which never enters the page, and hands the result to
 * the test's chain; no block is mined by it.
 */
async function injectWallet(
  context: BrowserContext,
  chain: TestChain,
  key: `0x${string}` = PAYER.privateKey,
): Promise<Owner> {
  const account = privateKeyToAccount(key)
  const owner: Owner = {
    chainId: chain.chainId,
    known: [chain.chainId, 1],
    refuses: {},
    waits: {},
    asked: [],
    added: [],
    meanwhile: null,
    signature: null,
  }

  const switchTo = (chainId: number): Answer => {
    if (!owner.known.includes(chainId)) return { error: { code: 4902, message: 'Unrecognized chain ID' } }
    owner.chainId = chainId
    return { result: null }
  }
  const send = async ({ to, data, value }: Transaction): Promise<string> => {
    const nonce = Number(await chain.call<string>('eth_getTransactionCount', account.address, 'pending'))
    const raw = await account.signTransaction({
      ...{ chainId: chain.chainId, type: 'eip1559', to, data, value: BigInt(value), nonce, gas: 100_000n },
      ...{ maxFeePerGas: 10n ** 10n, maxPriorityFeePerGas: 10n ** 9n },
    })
    return chain.call<string>('eth_sendRawTransaction', raw)
  }
  const answer = async (method: string, params: unknown[]): Promise<Answer> => {
    const [first, second] = params as [never, string]
    if (method === 'eth_requestAccounts') return { result: [account.address] }
    if (method === 'eth_chainId') return { result: `0x${owner.chainId.toString(16)}` }
    if (method === 'wallet_switchEthereumChain') return switchTo(Number((first as { chainId: string }).chainId))
    if (method === 'wallet_addEthereumChain') {
      owner.added.push(first)
      owner.known.push(Number((first as { chainId: string }).chainId))
      return switchTo(Number((first as { chainId: string }).chainId))
    }
    if (method === 'eth_sendTransaction') return { result: await send(first) }
    if (method === 'eth_signTypedData_v4') {
      if (owner.signature !== null) return { result: owner.signature }
      const { types, domain, message, primaryType } = JSON.parse(second)
      return { result: await account.signTypedData({ types, domain, message, primaryType }) }
    }
    // another chain knows nothing of this one's contracts
    if (owner.chainId !== chain.chainId) return { result: '0x' }
    return { result: await chain.call(method, ...params) }
  }
  await context.exposeFunction('askWallet', async (method: string, params: unknown[]): Promise<Answer> => {
    owner.asked.push(method)
    await owner.waits[method]
    const code = owner.refuses[method]
    if (method === 'eth_getBalance') await owner.meanwhile?.()
    if (code !== undefined) return { error: { code, message: 'refused by the test' } }
    return answer(method, params).catch((error: Error) => ({ error: { code: -32603, message: error.message } }))
  })
  await context.addInitScript(PROVIDER)
  return owner
}

/** The pay page of a new order, with a wallet in its browser whose owner does what the test says. */
export async function openWalletPage(
  browser: Browser,
  world: PayWorld,
  key?: `0x${string}`,
  body?: Record<string, unknown>,
) {
  const { code, toAddress } = await world.createAccepted(body)
  const opened = await visit(browser, 'about:blank')
  const owner = await injectWallet(opened.context, world.chain, key)
  await opened.page.goto(world.pageUrl(code))
  const button = opened.page.getByRole('button', { name: 'Pay with Test Wallet' })
  await button.waitFor()
  /** Pays, and reads what the page says in the end. */
  const attempt = async (): Promise<string> => {
    await button.click()
    const note = opened.page.locator('#wallet .note')
    await note.waitFor()
    return (await note.textContent()) ?? ''
  }
  return { ...opened, owner, button, attempt, code, toAddress }
}
