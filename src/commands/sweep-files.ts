import { readFileSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { getAddress } from 'viem/utils'
import {
  DEFAULT_ACCOUNT,
  openAccount,
  type SweepBatch,
  signBatch,
  signerOfAccount,
} from '../chain/sweep/sweep-batch.ts'
import { parseBatch } from '../chain/sweep/sweep-batch-file.ts'
import { parseAddress } from '../kernel/addresses.ts'
import { formatDecimal } from '../kernel/money.ts'
import { UsageError } from './command.ts'

export const SIGN_USAGE = `comptoir sweep sign --in FILE --mnemonic-file FILE --to ADDRESS [--out FILE]
    sign a batch on a machine without network or database
    --to ADDRESS            where the money may go; several for several networks. Compare it with your own wallet
    --mnemonic-file FILE    the recovery phrase, or the account's xprv, of the wallet that the xpub came from
    --passphrase-file FILE  the wallet's passphrase (BIP-39), where it has one
    --account PATH          default ${DEFAULT_ACCOUNT}
    --out FILE              default: the file of --in`

const read = (path: string): string => {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    throw new Error(`Cannot read ${path}.`)
  }
}

export const readBatch = (path: string): SweepBatch => parseBatch(read(path))

/** Readable only by its owner: it shows how much each address holds. */
export function writeJson(path: string, content: unknown): void {
  try {
    writeFileSync(path, `${JSON.stringify(content, null, 2)}\n`, { mode: 0o600 })
  } catch {
    throw new Error(`Cannot write ${path}. Name a file in a folder that exists and that you may write to.`)
  }
}

export function readAddress(text: string): string {
  const address = parseAddress(text)
  if (address !== undefined) return getAddress(address)
  throw new UsageError(`"${text}" is not an address, or its checksum is wrong.`)
}

export const countDeposits = (count: number): string => (count === 1 ? '1 deposit' : `${count} deposits`)

export const totalOf = ({ deposits }: SweepBatch): string =>
  formatDecimal(
    deposits.reduce((sum, { units }) => sum + BigInt(units), 0n),
    6,
  )

/** @throws UsageError when the batch sends money anywhere else than the person at the signer expects */
function checkDestinations(batch: SweepBatch, expected: readonly string[]): void {
  if (expected.length === 0) throw new UsageError('Name the allowed destination: --to ADDRESS, from your own records.')
  const allowed = expected.map(readAddress)
  for (const { network, to } of batch.networks)
    if (!allowed.includes(getAddress(to)))
      throw new Error(`The batch sends the money of network ${network} to ${to}, which --to does not name. Not signed.`)
}

/** `sweep sign`: needs no database, no network and no settings. */
export async function runSign(args: string[], print: (text: string) => void): Promise<undefined> {
  const { values } = parseArgs({
    args,
    options: {
      in: { type: 'string' },
      out: { type: 'string' },
      to: { type: 'string', multiple: true, default: [] },
      'mnemonic-file': { type: 'string' },
      'passphrase-file': { type: 'string' },
      account: { type: 'string', default: DEFAULT_ACCOUNT },
      json: { type: 'boolean', default: false },
    },
  })
  const { in: source, 'mnemonic-file': secretFile, 'passphrase-file': passphraseFile } = values
  if (source === undefined || secretFile === undefined) throw new UsageError('Give --in FILE and --mnemonic-file FILE.')
  const batch = readBatch(source)
  checkDestinations(batch, values.to)
  const passphrase = passphraseFile === undefined ? '' : read(passphraseFile).replace(/\r?\n$/, '')
  const account = openAccount(read(secretFile), { path: values.account, passphrase })
  const signed = await signBatch(batch, signerOfAccount(account))
  const file = values.out ?? source
  writeJson(file, signed)
  const facts = { signed: signed.deposits.length, total: totalOf(signed), to: batch.networks.map(({ to }) => to), file }
  print(
    values.json
      ? JSON.stringify(facts)
      : `Signed: ${countDeposits(facts.signed)}, ${facts.total} USDC, to ${facts.to.join(', ')}. Send them: comptoir sweep send ${file}`,
  )
}
