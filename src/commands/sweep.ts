import { renameSync, rmSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { getAddress } from 'viem/utils'
import { openAccounts } from '../assembly/accounts.ts'
import { sandboxAccount } from '../assembly/sandbox-settings.ts'
import { bookSweepDone } from '../assembly/sweeps.ts'
import { KNOWN_ADDRESS_WORDS, openKnownAddresses } from '../chain/known-addresses.ts'
import { type OpenChain, openChains } from '../chain/open-chains.ts'
import { web3signer } from '../chain/payout/web3signer.ts'
import { type SignDeposit, type SweepBatch, signBatch, signerOfAccount } from '../chain/sweep/sweep-batch.ts'
import { type ChainPlan, makeBatch, planSweep, sumUp, viewPlan } from '../chain/sweep/sweep-plan.ts'
import { listSweeps, SWEEP_POLLS, type Sweep } from '../chain/sweep/sweep-queries.ts'
import { toSafeFile } from '../chain/sweep/sweep-safe.ts'
import { pollSweep, type SweepDeps, storeBatch } from '../chain/sweep/sweep-send.ts'
import type { ChainConfig, Config } from '../config/config.ts'
import type { Db } from '../db/db.ts'
import { pollNow } from '../db/polling.ts'
import { findIsRehearsal } from '../db/restored-queries.ts'
import { systemContext } from '../http/request-context.ts'
import { DAY, systemClock } from '../kernel/clock.ts'
import { parseDecimal } from '../kernel/money.ts'
import type { SandboxVault } from '../kernel/vault.ts'
import type { OperatorCommand } from './admin.ts'
import { UsageError } from './command.ts'
import { withDatabase } from './database.ts'
import { listOperatorChains } from './operator-chains.ts'
import { countDeposits, readAddress, readBatch, runSign, SIGN_USAGE, totalOf, writeJson } from './sweep-files.ts'
import { type HeldOut, type Screened, screenBatch, screenSenders, wordsOf } from './sweep-screening.ts'

export const SWEEP_USAGE = `comptoir sweep [--chain ID] [--to ADDRESS] [--min AMOUNT] [--limit N] [--valid-days N]
    bring the deposits home: prints the plan as JSON and changes nothing
    --out FILE    write an unsigned batch for an offline signer
    --sign        sign with the configured signer (the sandbox's wallet, Web3Signer) and send
    --safe FILE   write a file for Safe's Transaction Builder; signed by the configured signer, or --in SIGNED
    --chain ID    one network only
    --to ADDRESS  where the money goes; default: the wallet that pays refunds and settlements
    --min AMOUNT  leave deposits below so much USDC (default 1)
    --limit N     at most so many deposits of a network (default 1000)
    --valid-days N  how long the signatures are good (default 7)

${SIGN_USAGE}

comptoir sweep send FILE [--to ADDRESS] [--no-wait]
    send a signed batch; repeating it is safe, and the running service goes on if this ends
    --to ADDRESS  refuse a file that sends the money anywhere else

  --json   for programs`

const OPTIONS = {
  chain: { type: 'string' },
  to: { type: 'string' },
  min: { type: 'string', default: '1' },
  limit: { type: 'string', default: '1000' },
  'valid-days': { type: 'string', default: '7' },
  out: { type: 'string' },
  safe: { type: 'string' },
  in: { type: 'string' },
  sign: { type: 'boolean', default: false },
  'no-wait': { type: 'boolean', default: false },
  json: { type: 'boolean', default: false },
} as const

const readArgs = (args: string[]) => parseArgs({ args, options: OPTIONS, allowPositionals: true })
type Options = ReturnType<typeof readArgs>['values']

type Work = {
  config: Config
  db: Db
  vault: SandboxVault
  options: Options
  chains: { settings: ChainConfig; open: OpenChain }[]
  print(text: string): void
  say(text: string): void
}

const MOST_DEPOSITS = 100_000
const MOST_DAYS = 60

const integer = (text: string, name: string, max: number): number => {
  const value = Number(text)
  if (/^\d+$/.test(text) && value >= 1 && value <= max) return value
  throw new UsageError(`--${name} must be a whole number from 1 to ${max}.`)
}

function minimumOf({ min }: Options): bigint {
  const units = parseDecimal(min, 6)
  if (units === undefined) throw new UsageError('--min must be an amount of USDC, for example 1.50.')
  return units
}

async function planAll({ config, db, chains, options }: Work): Promise<ChainPlan[]> {
  const rules = {
    ...{ minUnits: minimumOf(options), limit: integer(options.limit, 'limit', MOST_DEPOSITS) },
    screenFromUnits: BigInt(config.orders.chainDustUnits),
  }
  const plans: ChainPlan[] = []
  for (const { open } of chains) plans.push(await planSweep(db, open, rules))
  return plans
}

/** Why money must not be sent there: it would be lost, or pay an order; null: it may. */
async function findDestinationFault({ db, chains }: Work, to: string): Promise<string | null> {
  if (chains.some(({ open }) => open.payouts?.address.toLowerCase() === to.toLowerCase())) return null
  const known = await openKnownAddresses(chains.map(({ open }) => open))(db, to)
  return known && `${to} ${KNOWN_ADDRESS_WORDS[known]}`
}

/** @throws UsageError */
async function checkDestination(work: Work): Promise<void> {
  if (work.options.to === undefined) return
  const fault = await findDestinationFault(work, readAddress(work.options.to))
  if (fault !== null) throw new UsageError(`${fault}. Name another address with --to.`)
}

/**
 * A replaced wallet's key is often no longer safe. @throws Error when another wallet pays since the file was planned
 */
function checkStillPays({ chains }: Work, network: number, to: string): void {
  const now = chains.find(({ open }) => open.network.chainId === network)?.open.payouts?.address
  if (now !== undefined && getAddress(now) === getAddress(to)) return
  const change = now === undefined ? 'no wallet pays there any more' : `${getAddress(now)} pays there now`
  throw new Error(
    `The file sends the money of network ${network} to ${to}, the wallet that paid when it was planned; ${change}. ` +
      `Nothing was sent: plan the sweep again, or add --to ${to} if it is to go there.`,
  )
}

/**
 * The settings, and what is known about an address, may have changed since the file was planned. @throws Error,
 * UsageError
 */
async function checkFileDestinations(work: Work, { networks }: SweepBatch): Promise<void> {
  const expected = work.options.to === undefined ? null : readAddress(work.options.to)
  for (const { network, to, toPayingWallet } of networks) {
    if (expected === null && toPayingWallet) checkStillPays(work, network, to)
    if (expected !== null && getAddress(to) !== expected)
      throw new Error(`The file sends the money of network ${network} to ${to}, not to ${expected}. Nothing was sent.`)
    const fault = await findDestinationFault(work, to)
    if (fault !== null) throw new Error(`${fault}. Nothing was sent; plan the sweep again.`)
  }
}

/** The wallet that pays, unless the person chose another destination. */
function destinationOf({ chains, options }: Work, chainId: number): string {
  if (options.to !== undefined) return readAddress(options.to)
  const found = chains.find(({ open }) => open.network.chainId === chainId)
  if (found?.open.payouts) return found.open.payouts.address
  throw new UsageError(`No wallet pays on chain ${chainId}: say where the money goes with --to ADDRESS.`)
}

/** @throws Error when there is nothing to move */
async function makeFreshBatch(work: Work): Promise<Screened> {
  const days = integer(work.options['valid-days'], 'valid-days', MOST_DAYS)
  await checkDestination(work)
  const to = (chainId: number): string => destinationOf(work, chainId)
  const now = new Date(systemClock())
  const plans = await planAll(work)
  const held = await screenSenders(
    work,
    plans.flatMap(({ chain, deposits }) =>
      deposits.map(({ id, address }) => ({ id, address, network: chain.network.chainId })),
    ),
  )
  const cleared = plans.map((one) => ({ ...one, deposits: one.deposits.filter(({ id }) => !held.has(id)) }))
  const planned = await makeBatch(cleared, { to, validSeconds: (days * DAY) / 1000, now })
  const networks = planned.networks.map((one) => ({ ...one, toPayingWallet: work.options.to === undefined }))
  const batch = { ...planned, networks }
  const stays = [...viewPlan(plans).held, ...held.values()]
  if (batch.deposits.length === 0) throw new Error(['No deposit is to be moved.', ...wordsOf(stays)].join('\n'))
  return { batch, held: stays }
}

/** The sandbox's own wallet, or Web3Signer if it has the keys of the deposit addresses. */
function configuredSigner({ config, vault, chains }: Work): SignDeposit {
  const isOwn = config.mode === 'sandbox' && config.chains.every(({ xpub }) => xpub === null)
  if (isOwn) return signerOfAccount(sandboxAccount(vault))
  return ({ network, address }) => {
    const url = chains.find(({ open }) => open.network.chainId === network)?.settings.web3signerUrl
    if (url) return web3signer({ url, address })
    throw new Error(
      `Nothing here can sign for the deposits of chain ${network}: only their public key is known. Write them to a file ` +
        'with --out and sign it offline (comptoir sweep sign), or set up Web3Signer with their keys.',
    )
  }
}

const depsOf = ({ db, chains }: Work): SweepDeps => ({
  ...{ db, clock: systemClock, log: pino({ level: 'silent' }), book: bookSweepDone },
  chains: chains.map(({ open }) => open),
})

/** Advances each sweep, together with the workers of a running service, until all are done or failed. */
async function follow(work: Work, ids: readonly string[]): Promise<Sweep[]> {
  const deps = depsOf(work)
  let told = ''
  for (;;) {
    const sweeps = await listSweeps(work.db, ids)
    const open = sweeps.filter(({ status }) => status === 'sending')
    const line = `${sweeps.length - open.length} of ${sweeps.length} are done. ${open[0]?.providerStatus ?? ''}`
    if (line !== told) work.say(line)
    told = line
    if (open.length === 0) return sweeps
    for (const sweep of open)
      await pollNow(deps, SWEEP_POLLS, sweep, (db) => pollSweep({ ...deps, db }, sweep)).catch((error: Error) =>
        work.say(`${sweep.address}: ${error.message}`),
      )
    await new Promise((resolve) => setTimeout(resolve, 250))
  }
}

function report({ print, options, chains }: Work, sweeps: readonly Sweep[], held: readonly HeldOut[]): boolean {
  const done = sweeps.filter(({ status }) => status === 'done')
  const known = chains.map(({ open }) => open.network)
  const { networks, ...sum } = sumUp(done, known)
  const failed = sweeps.filter(({ status }) => status === 'failed')
  const waiting = sweeps.filter(({ status }) => status === 'sending')
  const facts = {
    ...{ done: done.length, ...sum, waiting: waiting.length },
    failed: failed.map(({ address, providerStatus }) => ({ address, message: providerStatus })),
    ...{ held, networks },
  }
  const lines = wordsOf(held)
  lines.push(...failed.map(({ address, providerStatus }) => `${address} was not moved: ${providerStatus}`))
  const open =
    waiting.length === 0
      ? ''
      : ` ${waiting.length} ${waiting.length === 1 ? 'is' : 'are'} on the way; the service goes on.`
  const cost = networks.map(({ name, fee, coin }) => `${fee} ${coin} on ${name}`).join(', ')
  lines.push(`${countDeposits(facts.done)} came home: ${facts.total} USDC${cost && `, for ${cost}`}.${open}`)
  print(options.json ? JSON.stringify(facts) : lines.join('\n'))
  return failed.length === 0
}

async function store(work: Work, batch: SweepBatch, outside: boolean): Promise<string[]> {
  const ids = await storeBatch(depsOf(work), batch, { sentBy: 'operator', outside })
  const { audit } = openAccounts({ config: work.config, db: work.db, vault: work.vault, clock: systemClock })
  const detail = { deposits: ids.length, total: totalOf(batch), to: batch.networks.map(({ to }) => to), outside }
  await work.db.tx((tx) =>
    audit.write(tx, systemContext('operator'), { action: 'sweep.send', object: 'sweep:deposits', detail }),
  )
  return ids
}

async function send(work: Work, { batch, held }: Screened): Promise<boolean> {
  const ids = await store(work, batch, false)
  if (work.options['no-wait']) return report(work, await listSweeps(work.db, ids), held)
  return report(work, await follow(work, ids), held)
}

async function screenFile(work: Work, file: SweepBatch): Promise<Screened> {
  await checkFileDestinations(work, file)
  return screenBatch(work, file)
}

/** @returns false when the file contains deposits that may not be sent now */
async function sendFile(work: Work, file: SweepBatch): Promise<boolean> {
  const screened = await screenFile(work, file)
  return (await send(work, screened)) && screened.held.length === 0
}

/** Signed by the configured signer. */
async function makeSignedBatch(work: Work): Promise<Screened> {
  const { batch, held } = await makeFreshBatch(work)
  return { batch: await signBatch(batch, configuredSigner(work)), held }
}

function writeUnsigned({ options, print }: Work, out: string, { batch, held }: Screened): void {
  writeJson(out, batch)
  const facts = { deposits: batch.deposits.length, total: totalOf(batch), held, file: out }
  const next = `Sign it offline: comptoir sweep sign --in ${out} --mnemonic-file FILE --to ADDRESS`
  const line = `${countDeposits(facts.deposits)}, ${facts.total} USDC. ${next}`
  print(options.json ? JSON.stringify(facts) : [...wordsOf(held), line].join('\n'))
}

async function writeSafe(work: Work, path: string, { batch, held }: Screened): Promise<void> {
  // a stored batch keeps its deposits out of every plan, so its signatures must be on the disk first
  const draft = `${path}.draft`
  writeJson(draft, toSafeFile(batch, new Date(systemClock())))
  await store(work, batch, true).catch((error: unknown) => {
    rmSync(draft)
    throw error
  })
  renameSync(draft, path)
  const facts = { deposits: batch.deposits.length, total: totalOf(batch), held, file: path }
  const line =
    `${countDeposits(facts.deposits)}, ${facts.total} USDC: open ${path} in Safe’s Transaction Builder. ` +
    'The service books it when the chain shows it.'
  work.print(work.options.json ? JSON.stringify(facts) : [...wordsOf(held), line].join('\n'))
}

/** Makes a plan, and executes what the options say. */
async function sweep(work: Work): Promise<boolean | undefined> {
  const { options, print } = work
  if (options.out !== undefined) return void writeUnsigned(work, options.out, await makeFreshBatch(work))
  if (options.safe !== undefined) {
    const { in: file } = options
    const signed = file === undefined ? await makeSignedBatch(work) : await screenFile(work, readBatch(file))
    return void (await writeSafe(work, options.safe, signed))
  }
  if (options.sign) return send(work, await makeSignedBatch(work))
  const plans = await planAll(work)
  print(JSON.stringify({ ...viewPlan(plans), notes: notesOf(plans) }, null, 2))
}

const notesOf = (plans: readonly ChainPlan[]): string[] =>
  plans.flatMap(({ chain: { network } }) =>
    network.hasDataFee ? [`On ${network.name} the fee for data on Ethereum (L1) comes on top of \`fee\`.`] : [],
  )

function chooseChains(config: Config, vault: SandboxVault, { chain }: Options): ChainConfig[] {
  const all = listOperatorChains(config, vault)
  if (all.length === 0) throw new Error('No chain is set up here. In the sandbox, start the service first.')
  const chosen = chain === undefined ? all : all.filter(({ chainId }) => String(chainId) === chain)
  if (chosen.length === 0) throw new UsageError(`Chain ${chain} is not set up: CHAIN_${chain}_RPC_URL is missing.`)
  return chosen
}

/** @throws UsageError before anything is opened, even if only the plan is wanted, which needs less */
function checkOptions(options: Options): void {
  minimumOf(options)
  integer(options.limit, 'limit', MOST_DEPOSITS)
  integer(options['valid-days'], 'valid-days', MOST_DAYS)
  if (options.to !== undefined) readAddress(options.to)
  const chosen = [options.out, options.safe, options.sign ? 'sign' : undefined].filter((one) => one !== undefined)
  if (chosen.length > 1) throw new UsageError('Choose one of --out, --safe and --sign.')
}

/**
 * `sweep`: moves deposits to our wallet. `sweep sign` is a separate command without access to the service: see
 * `runSign`.
 */
const runSweep: OperatorCommand = async (config, args, say) => {
  const { values: options, positionals } = readArgs(args)
  const [name, file, ...more] = positionals
  if ((name !== undefined && name !== 'send') || more.length > 0) throw new UsageError(`There is no "sweep ${name}".`)
  if (name === 'send' && file === undefined) throw new UsageError('Name the signed file: comptoir sweep send FILE')
  checkOptions(options)
  const batch = file === undefined ? null : readBatch(file)
  return withDatabase(config, say, async (db, vault) => {
    if ((batch || options.sign || options.safe !== undefined) && (await findIsRehearsal(db)))
      throw new Error('This is a rehearsal: the deposits are those of the real service. Only a plan is made here.')
    const settings = chooseChains(config, vault, options)
    const deps = { config: { chains: settings }, db, clock: systemClock, log: pino({ level: 'silent' }) }
    const opened = openChains({ ...deps, metrics: new Registry() })
    const chains = opened.flatMap((open) => {
      const own = settings.find(({ chainId }) => chainId === open.network.chainId)
      return own ? [{ open, settings: own }] : []
    })
    const print = (text: string): void => void process.stdout.write(`${text}\n`)
    const work: Work = { config, db, vault, options, chains, print, say }
    try {
      return await (batch ? sendFile(work, batch) : sweep(work))
    } finally {
      await Promise.all(opened.map(({ rpc }) => rpc.close()))
    }
  })
}

/** `sweep sign` reads no settings: the machine that signs has none. */
export const runSweepCommand =
  (load: () => Config, say: (line: string) => void) =>
  async (args: string[]): Promise<boolean | undefined> =>
    args[0] === 'sign'
      ? runSign(args.slice(1), (text) => void process.stdout.write(`${text}\n`))
      : runSweep(load(), args, say)
