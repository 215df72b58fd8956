import { createInterface } from 'node:readline/promises'
import { parseArgs } from 'node:util'
import { getAddress } from 'viem/utils'
import { openAccounts } from '../assembly/accounts.ts'
import {
  findKeyUse,
  listCompanyKeys,
  listKeyAddresses,
  upsertKeyConfirmed,
} from '../chain/deposits/deposit-key-queries.ts'
import { isDepositAddress } from '../chain/deposits/deposit-queries.ts'
import { countUses, lockAddressOwner, releaseSharedAddress } from '../chain/deposits/reservation-queries.ts'
import { createRpc, RpcError } from '../chain/endpoints/rpc.ts'
import { networkFor } from '../chain/networks.ts'
import { readBalance } from '../chain/payout/usdc-token.ts'
import { upsertFeeOverride } from '../chain/payout/wallet-queries.ts'
import type { ChainConfig, Config } from '../config/config.ts'
import type { Db } from '../db/db.ts'
import { findRestored, skippedOf } from '../db/restored-queries.ts'
import { systemContext } from '../http/request-context.ts'
import { parseAddress } from '../kernel/addresses.ts'
import { HOUR, systemClock } from '../kernel/clock.ts'
import { formatDecimal, formatMoney } from '../kernel/money.ts'
import type { SandboxVault } from '../kernel/vault.ts'
import { deriveAddress, ONE_INSTALLATION, parseXpub, type Xpub } from '../kernel/xpub.ts'
import { UsageError } from './command.ts'
import { withDatabase } from './database.ts'
import { listOperatorChains } from './operator-chains.ts'

export const ADMIN_CHAINS_USAGE = `comptoir admin confirm-addresses --chain ID [--yes]
    compare the first three deposit addresses with your wallet; live mode gives out none before
comptoir admin addresses --chain ID
comptoir admin addresses --company ID
    every deposit address with its index as CSV, of the operator's wallet or a company's own, so that any wallet
    finds the money
comptoir admin release-address --address 0x… --by NAME --reason TEXT [--paid N]
    takes an address from the company whose wallet names it, so that its owner can use it; N: the payments made there,
    which it says and which keep their money
comptoir admin allow-fee --chain ID --gwei N --hours N --by NAME --reason TEXT
    payouts may cost more gas for a while than CHAIN_<id>_MAX_FEE_GWEI allows`

const OPTIONS = {
  chain: { type: 'string' },
  company: { type: 'string' },
  address: { type: 'string' },
  gwei: { type: 'string' },
  hours: { type: 'string' },
  by: { type: 'string' },
  reason: { type: 'string' },
  paid: { type: 'string' },
  yes: { type: 'boolean', default: false },
  json: { type: 'boolean', default: false },
} as const
const readArgs = (args: string[]) => parseArgs({ args, options: OPTIONS }).values

type Work = {
  config: Config
  db: Db
  vault: SandboxVault
  options: ReturnType<typeof readArgs>
  say(line: string): void
  /** What was done, or is listed. */
  result(line: string): void
}

/** @throws UsageError when the chain is not configured */
function chainOf({ config, options, vault }: Work): { chain: ChainConfig; chainId: number; xpub: string } {
  const chain = listOperatorChains(config, vault).find(({ chainId }) => String(chainId) === options.chain)
  if (!chain) throw new UsageError(`Name a configured chain: --chain ID. "${options.chain ?? ''}" is not.`)
  const { xpub } = chain
  if (xpub === null) throw new UsageError(`CHAIN_${chain.chainId}_XPUB is missing.`)
  return { chain, chainId: chain.chainId, xpub }
}

const note = (
  { config, db, vault }: Work,
  action: string,
  object: string,
  detail: Record<string, string | number | readonly string[]>,
) => {
  const { audit } = openAccounts({ config, db, vault, clock: systemClock })
  return db.tx((tx) => audit.write(tx, systemContext('operator'), { action, object, detail }))
}

const SHOWN = 3
const PATIENCE_MS = 5000

/** The USDC at each address, as the first node that answers says; undefined: none does. */
async function readBalances(chain: ChainConfig, addresses: readonly string[]): Promise<bigint[] | undefined> {
  for (const url of chain.rpcUrls) {
    const rpc = createRpc({ url, timeoutMs: PATIENCE_MS })
    const asked = addresses.map((address) => readBalance(rpc, networkFor(chain), address))
    const balances = await Promise.all(asked).catch((error: unknown) => {
      if (error instanceof RpcError) return undefined
      throw error
    })
    await rpc.close()
    if (balances) return balances
  }
  return undefined
}

/**
 * The backup that the database is of, if it was restored, and orders after that backup may have used these indexes of
 * the key: the database does not know those orders.
 */
async function findBackupBefore(db: Db, { text }: Xpub, indexes: readonly number[]): Promise<Date | undefined> {
  const restored = await findRestored(db)
  const ranges = restored ? skippedOf(restored.facts, [text]).filter(({ xpub }) => xpub === text) : []
  const isSkipped = (index: number): boolean =>
    ranges.some(({ from, to }) => BigInt(from) <= index && index < BigInt(to))
  return indexes.every(isSkipped) ? restored?.backupMadeAt : undefined
}

/** What to know of the money at the addresses; empty: there is none that our own orders did not bring. */
async function describeMoney(
  { db }: Work,
  { chain, key }: { chain: ChainConfig; key: Xpub },
  addresses: readonly string[],
): Promise<string> {
  const balances = await readBalances(chain, addresses)
  if (!balances) return 'No node answers now, so whether they already hold money is not known.\n'
  const held: { index: number; words: string }[] = []
  for (const [index, address] of addresses.entries()) {
    const units = balances[index] ?? 0n
    if (units > 0n && !(await isDepositAddress(db, address.toLowerCase())))
      held.push({ index, words: `0/${index} holds ${formatMoney({ asset: 'USDC', units })} USDC` })
  }
  if (held.length === 0) return ''
  const unknown = `${held.map(({ words }) => words).join(', ')}, and no order here had it: `
  const indexes = held.map(({ index }) => index)
  const backupMadeAt = await findBackupBefore(db, key, indexes)
  if (backupMadeAt)
    return (
      `${unknown}it came, most likely, to orders that this installation made after the backup of ${backupMadeAt.toISOString()}, ` +
      'from which it was restored. "comptoir reconcile" lists it, and new orders get other addresses. If this ' +
      'installation never used this key before, another one does: give it an account of its own.\n'
    )
  return `${unknown}another installation or program uses this key. Give this installation an account of its own.\n`
}

/** Only the operator can tell which wallet is the right one. */
async function confirmAddresses(work: Work): Promise<undefined> {
  const { options, db, result } = work
  const { chain, chainId, xpub } = chainOf(work)
  const key = parseXpub(xpub)
  const addresses = Array.from({ length: SHOWN }, (_, index) => deriveAddress(key.text, index))
  const lines = addresses.map((address, index) => `  0/${index}  ${address}`)
  const money = await describeMoney(work, { chain, key }, addresses)
  if (options.yes) process.stderr.write(money)
  if (!options.yes) {
    process.stderr.write(
      `Deposit addresses on chain ${chainId} begin with\n\n${lines.join('\n')}\n\n${ONE_INSTALLATION}\n${money}`,
    )
    if (!process.stdin.isTTY)
      throw new Error('Nothing was confirmed: compare them with the first addresses in your wallet, then add --yes.')
    const terminal = createInterface({ input: process.stdin, output: process.stderr })
    const answer = await terminal.question('Does your wallet show the same three? Type yes to confirm: ')
    terminal.close()
    if (answer.trim().toLowerCase() !== 'yes') throw new Error('Nothing was confirmed. Check the xpub and its account.')
  }
  await db.tx((tx) => upsertKeyConfirmed(tx, key, { at: new Date(systemClock()), by: 'operator' }))
  await note(work, 'addresses.confirm', `key:${key.id}`, { chainId, addresses })
  const message = 'Confirmed. Deposit addresses of this key are given out from now on.'
  const facts = { ok: true, chainId, addresses, confirmed: true, message }
  result(options.json ? JSON.stringify(facts) : `${message}\n${lines.join('\n')}`)
}

/** Wallets stop scanning after this many unused addresses in a row; 20 by BIP-44. */
const USUAL_GAP = 20
const MOST_GAP = 100_000

async function exportAddresses(work: Work): Promise<undefined> {
  const { db, options, result } = work
  if (!options.json) result('path,index,address,company,order,created_at,received')
  if (options.company === undefined) return exportKey(work, parseXpub(chainOf(work).xpub))
  const keys = await listCompanyKeys(db, options.company)
  if (keys.length === 0) throw new UsageError(`The company ${options.company} has no wallet of its own with an xpub.`)
  for (const { xpub } of keys) await exportKey(work, parseXpub(xpub))
}

async function exportKey({ db, options, say, result }: Work, { id, text }: Xpub): Promise<undefined> {
  let after = -1n
  for (;;) {
    const page = await listKeyAddresses(db, id, after, 1000)
    for (const row of page) {
      const [path, address] = [`0/${row.keyIndex}`, getAddress(row.address)]
      if (deriveAddress(text, Number(row.keyIndex)) !== address)
        throw new Error(`${address} does not follow from this key at ${path}. Do not use this list; ask for help.`)
      const { companyId, code, createdAt, received } = row
      const fields = [path, String(row.keyIndex), address, companyId, code ?? '', createdAt.toISOString(), received]
      const facts = { path, address, companyId, order: code, createdAt: createdAt.toISOString(), received }
      result(options.json ? JSON.stringify(facts) : fields.join(','))
    }
    const last = page.at(-1)
    if (!last) break
    after = last.keyIndex
  }
  const { assigned, used, largestGap } = await findKeyUse(db, id)
  say(
    `${assigned} addresses were given out, ${used} received money; the longest row without any is ${largestGap}. ${gapAdvice(largestGap)}`,
  )
}

/** A restore passes over millions of indexes. */
function gapAdvice(largestGap: number): string {
  if (largestGap <= USUAL_GAP) return `The usual gap limit of ${USUAL_GAP} is enough.`
  if (largestGap > MOST_GAP) return 'No wallet looks so far: open what you need by its path, or use comptoir sweep.'
  return `Wallets stop after ${USUAL_GAP} unused addresses in a row: set the gap limit to ${largestGap + 1} or more.`
}

async function allowFee(work: Work): Promise<undefined> {
  const { options, db, result } = work
  const { chainId } = chainOf(work)
  const [gwei, hours] = [Number(options.gwei), Number(options.hours)]
  if (!(Number.isInteger(gwei) && gwei > 0 && Number.isInteger(hours) && hours > 0 && hours <= 168))
    throw new UsageError('Give --gwei and --hours as whole numbers; at most 168 hours.')
  if (!options.by || !options.reason) throw new UsageError('Say who allows it and why: --by NAME --reason TEXT')
  const until = new Date(systemClock() + hours * HOUR)
  const { by: allowedBy, reason } = options
  const override = { chainId, maxFeeWei: BigInt(gwei) * 1_000_000_000n, until, allowedBy, reason }
  await db.tx((tx) => upsertFeeOverride(tx, override, new Date(systemClock())))
  const detail = { gwei, until: until.toISOString(), by: allowedBy, reason }
  await note(work, 'fees.allow', `chain:${chainId}`, detail)
  const message = `Until ${until.toISOString()}, gas on chain ${chainId} may cost ${gwei} gwei.`
  result(options.json ? JSON.stringify({ ok: true, chainId, ...detail, message }) : message)
}

/** A company names addresses without a proof that they are its own. @throws Error while orders there say otherwise */
async function releaseAddress({ config, options, db, vault, result }: Work): Promise<undefined> {
  const address = parseAddress(options.address ?? '')?.toLowerCase()
  const { by, reason } = options
  if (!address || !by || !reason) throw new UsageError('Say which, who and why: --address 0x… --by NAME --reason TEXT')
  const { audit } = openAccounts({ config, db, vault, clock: systemClock })
  const companyId = await db.tx(async (tx) => {
    const owner = await lockAddressOwner(tx, address)
    if (!owner || owner.keyId !== null) throw new UsageError(`${address} is no address that a company named.`)
    const { open, paid, units } = await countUses(tx, address)
    if (open > 0n) throw new Error(`${open} open payments of company ${owner.companyId} have it: wait, or cancel them.`)
    // a millionth of a dollar is a payment, too: a person weighs what was paid against the proof
    if (paid > 0n && options.paid !== String(paid))
      throw new Error(
        `${paid} payments of company ${owner.companyId} were made there, of ${formatDecimal(BigInt(units), 6)} USDC in all. ` +
          `It stays the company's unless somebody proved that it is his: then add --paid ${paid}. They keep their money.`,
      )
    await releaseSharedAddress(tx, address)
    const detail = { address, by, reason, ...(paid > 0n && { paid: Number(paid) }) }
    const entry = {
      companyId: owner.companyId,
      action: 'channel.address_released',
      object: `address:${address}`,
      detail,
    }
    await audit.write(tx, systemContext('operator'), entry)
    return owner.companyId
  })
  const message = `${address} is not company ${companyId}’s any more. Its owner saves it now.`
  result(options.json ? JSON.stringify({ ok: true, address, companyId, message }) : message)
}

const COMMANDS: Record<string, (work: Work) => Promise<undefined>> = {
  'confirm-addresses': confirmAddresses,
  addresses: exportAddresses,
  'allow-fee': allowFee,
  'release-address': releaseAddress,
}

export const CHAIN_COMMANDS = Object.keys(COMMANDS)

/** Commands of `admin` about chains; undefined for any other command. */
export function findChainCommand(name: string) {
  const work = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined
  return (
    work &&
    ((config: Config, args: string[], out: Pick<Work, 'say' | 'result'>): Promise<undefined> => {
      const options = readArgs(args)
      return withDatabase(config, out.say, (db, vault) => work({ config, db, vault, options, ...out }))
    })
  )
}
