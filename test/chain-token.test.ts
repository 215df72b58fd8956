import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { after, before, describe, it } from 'node:test'
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { encodeFunctionData, parseAbi } from 'viem/utils'
import { printBytecode, SHIPPED } from '../sandbox/chain/compile.ts'
import { DEPLOYER } from '../sandbox/chain/throwaway-keys.ts'
import { mint } from '../sandbox/chain/token.ts'
import { startTestChain, type TestChain } from './harness/chain.ts'

const ABI = parseAbi([
  'function transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,bytes)',
  'function receiveWithAuthorization(address,address,uint256,uint256,uint256,bytes32,bytes)',
  'function cancelAuthorization(address,bytes32,bytes)',
  'function permit(address,address,uint256,uint256,uint8,bytes32,bytes32)',
  'function transferFrom(address,address,uint256)',
  'function transfer(address,uint256)',
  'function blacklist(address)',
  'function unBlacklist(address)',
  'function pause()',
  'function unpause()',
])
const AUTHORIZATION = [
  { name: 'from', type: 'address' },
  { name: 'to', type: 'address' },
  { name: 'value', type: 'uint256' },
  { name: 'validAfter', type: 'uint256' },
  { name: 'validBefore', type: 'uint256' },
  { name: 'nonce', type: 'bytes32' },
] as const
const NEVER = 2n ** 255n

type Hex = `0x${string}`
type Signed = { to: Hex; nonce: Hex; validBefore: bigint; signature: Hex }

let chain: TestChain
let holder: PrivateKeyAccount
let shop: Hex

const newNonce = (): Hex => `0x${randomBytes(32).toString('hex')}`
const domain = () => ({ name: 'USD Coin', version: '2', chainId: 31337, verifyingContract: chain.usdcAddress as Hex })

before(async () => {
  chain = await startTestChain()
  holder = privateKeyToAccount(generatePrivateKey())
  shop = privateKeyToAccount(generatePrivateKey()).address
  await mint(chain.call, holder.address, 100_000_000n)
})
after(() => chain?.stop())

/** Sends a call to the token from an account of the node; refused, it throws what the token says. */
async function send(from: string, data: Hex): Promise<void> {
  const transaction = { from, to: chain.usdcAddress, data }
  await chain.call('eth_call', transaction, 'latest')
  await chain.call('eth_sendTransaction', transaction)
  await chain.mine()
}

const asOwner = (functionName: 'pause' | 'unpause' | 'blacklist' | 'unBlacklist', account?: Hex): Promise<void> =>
  send(
    DEPLOYER,
    functionName === 'pause' || functionName === 'unpause'
      ? encodeFunctionData({ abi: ABI, functionName })
      : encodeFunctionData({ abi: ABI, functionName, args: [account ?? shop] }),
  )

async function sign(kind: 'Transfer' | 'Receive', wanted: Partial<Signed> = {}): Promise<Signed> {
  const { to = shop, nonce = newNonce(), validBefore = NEVER } = wanted
  const primaryType = `${kind}WithAuthorization` as const
  const message = { from: holder.address, to, value: 1_000_000n, validAfter: 0n, validBefore, nonce }
  const types = { TransferWithAuthorization: AUTHORIZATION, ReceiveWithAuthorization: AUTHORIZATION }
  const signature = await holder.signTypedData({ domain: domain(), types, primaryType, message })
  return { to, nonce, validBefore, signature }
}

const submit = (kind: 'transfer' | 'receive', { to, nonce, validBefore, signature }: Signed, from = chain.payer) => {
  const args = [holder.address, to, 1_000_000n, 0n, validBefore, nonce, signature] as const
  return send(from, encodeFunctionData({ abi: ABI, functionName: `${kind}WithAuthorization`, args }))
}

describe('the test token, where USDC matters', () => {
  it('pays by signature (EIP-3009) once; a replay, another receiver and a late one are refused', async () => {
    const signed = await sign('Transfer')
    const before = await chain.balanceOf(shop)
    await assert.rejects(submit('transfer', { ...signed, to: chain.payer as Hex }), /invalid signature/)
    await submit('transfer', signed)
    assert.equal((await chain.balanceOf(shop)) - before, 1_000_000n)
    await assert.rejects(submit('transfer', signed), /authorization is used or canceled/)
    await assert.rejects(submit('transfer', await sign('Transfer', { validBefore: 1n })), /authorization is expired/)
  })

  it('lets only the receiver redeem an authorization to receive', async () => {
    const signed = await sign('Receive', { to: chain.payer as Hex })
    await assert.rejects(submit('receive', signed, DEPLOYER), /caller must be the payee/)
    await submit('receive', signed, chain.payer)
    await assert.rejects(submit('receive', signed, chain.payer), /authorization is used or canceled/)
  })

  it('refuses an authorization that its signer took back', async () => {
    const signed = await sign('Transfer')
    const signature = await holder.signTypedData({
      domain: domain(),
      types: {
        CancelAuthorization: [
          { name: 'authorizer', type: 'address' },
          { name: 'nonce', type: 'bytes32' },
        ],
      },
      primaryType: 'CancelAuthorization',
      message: { authorizer: holder.address, nonce: signed.nonce },
    })
    const args = [holder.address, signed.nonce, signature] as const
    await send(chain.payer, encodeFunctionData({ abi: ABI, functionName: 'cancelAuthorization', args }))
    await assert.rejects(submit('transfer', signed), /authorization is used or canceled/)
  })

  it('grants an allowance by signature (EIP-2612) once', async () => {
    const spender = chain.payer as Hex
    const message = { owner: holder.address, spender, value: 5n, nonce: 0n, deadline: NEVER }
    const types = {
      Permit: [
        { name: 'owner', type: 'address' },
        { name: 'spender', type: 'address' },
        { name: 'value', type: 'uint256' },
        { name: 'nonce', type: 'uint256' },
        { name: 'deadline', type: 'uint256' },
      ],
    } as const
    const signature = await holder.signTypedData({ domain: domain(), types, primaryType: 'Permit', message })
    const [r, s] = [`0x${signature.slice(2, 66)}`, `0x${signature.slice(66, 130)}`] as [Hex, Hex]
    const args = [holder.address, spender, 5n, NEVER, Number.parseInt(signature.slice(130), 16), r, s] as const
    const permit = encodeFunctionData({ abi: ABI, functionName: 'permit', args })
    await send(DEPLOYER, permit)
    await assert.rejects(send(DEPLOYER, permit), /invalid signature/)
    const take = encodeFunctionData({ abi: ABI, functionName: 'transferFrom', args: [holder.address, shop, 5n] })
    await send(spender, take)
    await assert.rejects(send(spender, take))
  })

  it('refuses a blacklisted account as sender and as receiver, until it is taken off the list', async () => {
    const signed = await sign('Transfer')
    for (const account of [shop, holder.address]) {
      await asOwner('blacklist', account)
      await assert.rejects(submit('transfer', signed), /account is blacklisted/)
      await asOwner('unBlacklist', account)
    }
    await submit('transfer', signed)
  })

  it('moves nothing while it is paused, and only its owner rules it', async () => {
    const pay = encodeFunctionData({ abi: ABI, functionName: 'transfer', args: [shop, 1n] })
    await asOwner('pause')
    await assert.rejects(send(chain.payer, pay), /paused/)
    await asOwner('unpause')
    await send(chain.payer, pay)
    await assert.rejects(send(chain.payer, encodeFunctionData({ abi: ABI, functionName: 'pause' })))
  })
})

it('the bytecode beside the contracts is what the compiler makes of them', () => {
  const hint = 'run: node sandbox/chain/compile.ts --write'
  assert.equal(readFileSync(SHIPPED, 'utf8'), printBytecode(), hint)
})
