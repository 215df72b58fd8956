import { authorizationArguments } from '../payout/usdc-token.ts'
import { networkOf, type SweepBatch, typedDataOf } from './sweep-batch.ts'

const INPUTS = [
  { name: 'from', type: 'address', internalType: 'address' },
  { name: 'to', type: 'address', internalType: 'address' },
  { name: 'value', type: 'uint256', internalType: 'uint256' },
  { name: 'validAfter', type: 'uint256', internalType: 'uint256' },
  { name: 'validBefore', type: 'uint256', internalType: 'uint256' },
  { name: 'nonce', type: 'bytes32', internalType: 'bytes32' },
  { name: 'v', type: 'uint8', internalType: 'uint8' },
  { name: 'r', type: 'bytes32', internalType: 'bytes32' },
  { name: 's', type: 'bytes32', internalType: 'bytes32' },
]

/**
 * The signed batch as a file for Safe's Transaction Builder (github.com/safe-global/safe-react-apps, version 1.0): the
 * Safe submits the authorizations, and pays the gas.
 * @throws Error when the batch has several networks, or is not signed
 */
export function toSafeFile(batch: SweepBatch, now: Date) {
  const [network, other] = batch.networks
  if (!network || other) throw new Error('A Safe is on one network: name it with --chain.')
  return {
    version: '1.0',
    chainId: String(network.network),
    createdAt: now.getTime(),
    meta: {
      name: `Bring ${batch.deposits.length} deposits home`,
      description: `USDC on ${network.name} to ${network.to}`,
      txBuilderVersion: '1.16.5',
      createdFromSafeAddress: '',
      createdFromOwnerAddress: '',
    },
    transactions: batch.deposits.map((deposit) => {
      if (deposit.signature === null) throw new Error(`${deposit.address} is not signed yet.`)
      const { message } = typedDataOf(networkOf(batch, deposit), deposit)
      const values = authorizationArguments(message, deposit.signature as `0x${string}`)
      return {
        to: network.token,
        value: '0',
        data: null,
        contractMethod: { name: 'transferWithAuthorization', payable: false, inputs: INPUTS },
        contractInputsValues: Object.fromEntries(INPUTS.map(({ name }, index) => [name, String(values[index])])),
      }
    }),
  }
}
