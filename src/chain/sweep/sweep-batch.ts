import { pbkdf2Sync } from 'node:crypto'
import { HDKey } from '@scure/bip32'
import { privateKeyToAccount } from 'viem/accounts'
import { getAddress, keccak256, recoverTypedDataAddress, stringToHex } from 'viem/utils'
import { type Static, Type } from '../../kernel/schema.ts'
import { deriveAddress, parseXpub } from '../../kernel/xpub.ts'
import type { Hex } from '../endpoints/rpc.ts'
import type { Signer } from '../payout/signer.ts'
import { authorizationTypedData } from '../payout/usdc-token.ts'

const Address = Type.String({ pattern: '^0x[0-9a-fA-F]{40}$' })
const Whole = Type.String({ pattern: '^[0-9]{1,78}$' })

const NetworkSchema = Type.Object({
  network: Type.Integer({ minimum: 1 }),
  name: Type.String(),
  token: Address,
  /** The token's EIP-712 domain. */
  domain: Type.Object({ name: Type.String(), version: Type.String() }),
  to: Address,
  /** No person chose `to`: it was the wallet that paid when the batch was planned. */
  toPayingWallet: Type.Optional(Type.Boolean()),
})

const DepositSchema = Type.Object({
  id: Type.String({ pattern: '^sweep:[0-9]+:0x[0-9a-f]{40}:[0-9]+$' }),
  network: Type.Integer({ minimum: 1 }),
  address: Address,
  /** The account key that the address is derived from, as a hash, and its index below `0/`. */
  account: Type.String(),
  index: Type.Integer({ minimum: 0 }),
  amount: Type.String(),
  units: Whole,
  nonce: Type.String({ pattern: '^0x[0-9a-f]{64}$' }),
  /** In the chain's seconds. */
  validBefore: Whole,
  signature: Type.Union([Type.Null(), Type.String({ pattern: '^0x[0-9a-f]{130}$' })]),
})

export const FORMAT = 'comptoir-sweep/1'
export const BatchSchema = Type.Object({
  format: Type.Literal(FORMAT),
  createdAt: Type.String(),
  networks: Type.Array(NetworkSchema, { minItems: 1 }),
  deposits: Type.Array(DepositSchema, { minItems: 1, maxItems: 100_000 }),
})

export type SweepNetwork = Static<typeof NetworkSchema>
export type SweepDeposit = Static<typeof DepositSchema>
/** The file for an offline signer, which comes back with signatures. */
export type SweepBatch = Static<typeof BatchSchema>

/** The same for every batch planned before this sweep is done: only one of them can move the money. */
export const sweepIdOf = (chainId: number, address: string, number: number): string =>
  `sweep:${chainId}:${address.toLowerCase()}:${number}`
export const sweepNonceOf = (id: string): Hex => keccak256(stringToHex(id))

export function networkOf({ networks }: SweepBatch, deposit: Pick<SweepDeposit, 'network'>): SweepNetwork {
  const found = networks.find(({ network }) => network === deposit.network)
  if (!found) throw new Error(`The file says nothing about network ${deposit.network}.`)
  return found
}

/** What the owner of the deposit address signs. */
export const typedDataOf = (network: SweepNetwork, deposit: SweepDeposit) =>
  authorizationTypedData(
    { ...network.domain, chainId: network.network, token: network.token as Hex },
    {
      from: deposit.address as Hex,
      to: network.to as Hex,
      units: BigInt(deposit.units),
      validBefore: BigInt(deposit.validBefore),
      nonce: deposit.nonce as Hex,
    },
  )

/** Whether the signature is the deposit address's own. */
export async function isSignedByOwner(batch: SweepBatch, deposit: SweepDeposit): Promise<boolean> {
  if (deposit.signature === null) return false
  const signature = deposit.signature as Hex
  try {
    const data = typedDataOf(networkOf(batch, deposit), deposit)
    return (await recoverTypedDataAddress({ ...data, signature })) === getAddress(deposit.address)
  } catch {
    return false
  }
}

/** Signs for deposit addresses, wherever their keys are. @throws Error when it does not have the key */
export type SignDeposit = (
  deposit: SweepDeposit,
) => Promise<Pick<Signer, 'signTypedData'>> | Pick<Signer, 'signTypedData'>

/** @returns the batch with every signature, each verified @throws Error naming the address that is not signed */
export async function signBatch(batch: SweepBatch, signerOf: SignDeposit): Promise<SweepBatch> {
  const deposits: SweepDeposit[] = []
  for (const deposit of batch.deposits) {
    const signer = await signerOf(deposit)
    const signature = await signer.signTypedData(typedDataOf(networkOf(batch, deposit), deposit))
    const signed = { ...deposit, signature: signature.toLowerCase() }
    if (!(await isSignedByOwner(batch, signed))) throw new Error(`The signature for ${deposit.address} is not its own.`)
    deposits.push(signed)
  }
  return { ...batch, deposits }
}

/** The account that wallets export as xpub (BIP-44). */
export const DEFAULT_ACCOUNT = "m/44'/60'/0'"

/**
 * Opens the account whose xpub the service has.
 * @param secret a recovery phrase, or the account's private key (xprv)
 * @throws Error; it never contains the secret
 */
export function openAccount(secret: string, { path, passphrase }: { path: string; passphrase: string }): HDKey {
  const text = secret.trim().replaceAll(/\s+/g, ' ')
  try {
    if (text.startsWith('xprv')) return HDKey.fromExtendedKey(text)
    if (![12, 15, 18, 21, 24].includes(text.split(' ').length)) throw new Error('words')
    // BIP-39; a wrong word changes the addresses, which are compared before anything is signed
    const salt = `mnemonic${passphrase}`.normalize('NFKD')
    const seed = pbkdf2Sync(text.normalize('NFKD'), salt, 2048, 64, 'sha512')
    return HDKey.fromMasterSeed(seed).derive(path)
  } catch {
    throw new Error('This is no recovery phrase of 12 to 24 words, and no account key that begins with xprv.')
  }
}

/** @throws Error when the deposits belong to another account */
export function signerOfAccount(account: HDKey): SignDeposit {
  const xpub = account.publicExtendedKey
  const { id } = parseXpub(xpub)
  const branch = account.deriveChild(0)
  return ({ address, index, account: owner }) => {
    if (owner !== id || deriveAddress(xpub, index).toLowerCase() !== address.toLowerCase())
      throw new Error(`${address} does not belong to this wallet. Check the recovery phrase, passphrase and account.`)
    const { privateKey } = branch.deriveChild(index)
    if (privateKey === null) throw new Error('The account has no private key.')
    const local = privateKeyToAccount(`0x${Buffer.from(privateKey).toString('hex')}`)
    return { signTypedData: (data) => local.signTypedData(data) }
  }
}
