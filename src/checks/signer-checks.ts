import { recoverTypedDataAddress } from 'viem/utils'
import {
  openSigner,
  SIGNER_ROLES,
  type SignerKind,
  type SignerRole,
  signerKind,
} from '../chain/payout/chain-signers.ts'
import type { TypedData } from '../chain/payout/signer.ts'
import type { ChainConfig } from '../config/config.ts'
import { deriveAddress } from '../kernel/xpub.ts'
import { bad, type Check, good } from './check.ts'

/** Data without meaning to any contract: signing it moves nothing. */
const PROBE: TypedData = {
  domain: {
    name: 'Comptoir signer check',
    version: '1',
    chainId: 1,
    verifyingContract: '0x0000000000000000000000000000000000000000',
  },
  types: { Probe: [{ name: 'text', type: 'string' }] },
  primaryType: 'Probe',
  message: { text: 'This signature moves nothing.' },
}

const PLACES: Record<SignerKind, string> = {
  key: 'a bare key in memory',
  keystore: 'an encrypted keystore',
  web3signer: 'Web3Signer',
}

/** Wallets rarely scan further than this. */
const LOOKED_AT = 200

/**
 * The paying key belongs in a separate wallet: whoever has the phrase of the deposit account would also have this key.
 */
function inAccount({ chainId, xpub }: ChainConfig, address: string): string {
  if (xpub === null) return ''
  const index = Array.from({ length: LOOKED_AT }, (_, at) => deriveAddress(xpub, at)).indexOf(address)
  if (index === -1) return ''
  return ` It is address 0/${index} of CHAIN_${chainId}_XPUB: no order gets it, but a wallet of its own is safer.`
}

const signerCheck = (chain: ChainConfig, role: SignerRole, kind: SignerKind): Check => ({
  name: `signer ${chain.chainId} ${role}`,
  cure: `Check the CHAIN_${chain.chainId}_ variables.`,
  async run() {
    const prefix = `CHAIN_${chain.chainId}_`
    try {
      const signer = openSigner(chain, role)
      if (!signer) return bad('Its settings are incomplete.', `Check the ${prefix} variables.`)
      const signature = await signer.signTypedData(PROBE)
      const signed = await recoverTypedDataAddress({ ...PROBE, signature })
      if (signed !== signer.address) return bad(`It signs for ${signed}, not ${signer.address}.`, 'Check its keys.')
      return good(`${signer.address} signs, with ${PLACES[kind]}.${inAccount(chain, signer.address)}`)
    } catch (error) {
      const fix =
        kind === 'web3signer' ? `Check ${prefix}WEB3SIGNER_URL and its keys.` : `Check the ${prefix} variables.`
      return bad((error as Error).message, fix)
    }
  },
})

/** One check per configured signer: it signs meaningless data, and the signature is verified. */
export const signerChecks = (chains: readonly ChainConfig[]): Check[] =>
  chains.flatMap((chain) =>
    SIGNER_ROLES.flatMap((role) => {
      const kind = signerKind(chain, role)
      return kind === null ? [] : [signerCheck(chain, role, kind)]
    }),
  )
