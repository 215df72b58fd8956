import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { promisify } from 'node:util'
import pino from 'pino'
import { mint } from '../sandbox/chain/token.ts'
import { createRpc } from '../src/chain/endpoints/rpc.ts'
import { networkFor } from '../src/chain/networks.ts'
import { localSigner } from '../src/chain/payout/signer.ts'
import { type WatchedChain, watchWallets } from '../src/chain/payout/wallet-watch.ts'
import { openCryptoChannel } from '../src/channels/crypto/adapter.ts'
import { sql } from '../src/db/db.ts'
import { newId } from '../src/kernel/ids.ts'
import { formatDecimal } from '../src/kernel/money.ts'
import { deriveAddress, parseXpub } from '../src/kernel/xpub.ts'
import { type Client, logIn, logInSuperAdmin, register } from './harness/accounts.ts'
import { bareEnv } from './harness/bare-env.ts'
import { newTestXpub } from './harness/chain.ts'
import { MAIN } from './harness/programs.ts'
import { createPaid, newAddress, payoutEnv } from './harness/refunds.ts'
import { eventually, startTestService, TEST_MASTER_KEY, type TestService } from './harness/service.ts'
import { chainEnv, openShop, type Shop, TEST_XPUB } from './harness/shop.ts'

type Settlement = {
  _id: string
  status: string
  amount: string
  message: string | null
  firstApprovedBy: string | null
}

type OperatorWallets = {
  wallets: { wallet: string; address: string; balance: string | null; low: boolean }[]
  limits: { dayLimit: string | null; twoPersonsFrom: string | null; allowList: string[] }
  gas: { maxGwei: string | null; override: { allowedBy: string } | null }[]
}

const ALLOWED = newAddress()
const OTHER = newAddress()
const LIMITS = {
  SETTLEMENT_DAY_LIMIT: '120',
  SETTLEMENT_TWO_PERSONS_FROM: '100',
  SETTLEMENT_ALLOW_LIST: ALLOWED,
}

let shop: Shop
let admin: Client
let second: Client
/** A node that lacks the keys and works on nothing: a person sends what is approved there. */
let keyless: TestService
let folder: string
let keys: Record<string, string>

before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'comptoir-wallets-'))
  shop = await openShop({
    env: async (chain) => {
      keys = { ...(await payoutEnv(chain)), CHAIN_31337_MAX_FEE_GWEI: '50' }
      return {
        ...keys,
        ...LIMITS,
      }
    },
  })
  const { connectionString } = shop.host
  keyless = await startTestService({ env: { ...chainEnv(shop.chain), ...LIMITS }, connectionString })
  admin = await logInSuperAdmin(shop.host)
  second = await logInSuperAdmin(shop.host)
})
after(async () => {
  await keyless?.stop()
  await shop?.stop()
  rmSync(folder, { recursive: true, force: true })
})

/** A SuperAdmin whom another one registers, or gives the role, and who logs in. */
async function makeOperator(by: Client, role: 'SuperAdmin' | 'SimpleUser' = 'SuperAdmin'): Promise<Client> {
  const { userId, email } = await register(shop.host.baseUrl, { role }, role === 'SuperAdmin' ? by : undefined)
  assert.equal((await by.call('PUT', `users/${userId}`, { role: 'SuperAdmin' })).status, 200)
  await shop.host.db.run(sql`update users set verified_at = now() where id = ${userId}`)
  return logIn(shop.host.baseUrl, email, 'auth/login')
}

/** Takes the role of an operator away and gives it back. @returns the operator, logged in again */
async function remake(by: Client, { userId }: Client): Promise<Client> {
  for (const role of ['SuperManager', 'SuperAdmin'])
    assert.equal((await by.call('PUT', `users/${userId}`, { role })).status, 200)
  const { email } = await shop.host.db.one<{ email: string }>(sql`select email from users where id = ${userId}`)
  return logIn(shop.host.baseUrl, email, 'auth/login')
}

const setTarget = (address: string) =>
  shop.host.db.run(sql`
    update companies set settlement_address = ${address}, settlement_network = 31337 where id = ${shop.merchant.companyId}`)
const create = async (): Promise<Settlement> =>
  (await admin.post<Settlement>('settlements', { companyId: shop.merchant.companyId })).data
const approve = (by: Client, { _id }: Settlement) => by.post<Settlement>(`settlements/${_id}/approve`)
const countDeadlocks = async (): Promise<bigint> => {
  const { deadlocks } = await shop.host.db.one<{ deadlocks: bigint }>(
    sql`select deadlocks from pg_stat_database where datname = current_database()`,
  )
  return deadlocks
}
const reaches = (made: Settlement, isRight: (one: Settlement) => boolean): Promise<Settlement> =>
  eventually(async () => {
    await shop.chain.mine()
    const found = (await admin.get<Settlement[]>('settlements')).data.find(({ _id }) => _id === made._id)
    assert.ok(found)
    return found
  }, isRight)

async function run(args: string[]): Promise<{ code: number; stdout: string; text: string }> {
  const env = {
    ...{ ...bareEnv(), DATA_DIR: folder, DATABASE_URL: shop.host.db.connectionString },
    ...{ MASTER_KEY: TEST_MASTER_KEY.toString('base64'), ...chainEnv(shop.chain), ...keys },
  }
  try {
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [MAIN, 'admin', ...args], { env })
    return { code: 0, stdout, text: stdout + stderr }
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string }
    return { code, stdout, text: stdout + stderr }
  }
}

test('a settlement goes to an allowed address only', async () => {
  await createPaid(shop)
  await setTarget(OTHER)
  const made = await create()
  const refused = await approve(admin, made)
  assert.match(refused.error.message, /not on the list.*SETTLEMENT_ALLOW_LIST/)
  assert.equal((await admin.post(`settlements/${made._id}/cancel`)).status, 200)
})

test('gas above the ceiling keeps a payout waiting, until an operator allows more by name', async () => {
  await setTarget(ALLOWED)
  const made = await create()
  assert.equal(made.amount, '54.000000')
  await shop.chain.call('anvil_setNextBlockBaseFeePerGas', `0x${(90n * 10n ** 9n).toString(16)}`)
  await shop.chain.mine()
  assert.equal((await approve(admin, made)).data.status, 'approved')
  const waiting = await eventually(
    async () => (await admin.get<Settlement[]>('settlements')).data.find(({ _id }) => _id === made._id),
    (one) => /more than the 50\.000000000 that are allowed/.test(one?.message ?? ''),
  )
  assert.equal(waiting?.status, 'approved')
  const { isSigned } = await shop.host.db.one<{ isSigned: boolean }>(
    sql`select valid_before is not null as is_signed from chain_payouts where id = ${made._id}`,
  )
  assert.equal(isSigned, false, 'until gas is paid for, it can be taken back')
  assert.equal((await run(['allow-fee', '--chain', '31337', '--gwei', '500', '--hours', '1'])).code, 2)
  const named = ['--by', 'Ada', '--reason', 'payday']
  const allowed = await run(['allow-fee', '--chain', '31337', '--gwei', '500', '--hours', '1', ...named])
  assert.equal(allowed.code, 0, allowed.text)
  await eventually(
    async () => (await admin.get<Settlement[]>('settlements')).data.find(({ _id }) => _id === made._id)?.message,
    (message) => /^sent in/.test(message ?? ''),
  )
  await reaches(made, ({ status }) => status === 'paid')
  assert.equal(await shop.chain.balanceOf(ALLOWED), 54_000_000n)
  const entry = await shop.host.db.one<{ detail: string }>(
    sql`select detail::text as detail from audit_log where action = 'fees.allow'`,
  )
  assert.match(entry.detail, /Ada.*payday/)
})

test('from the limit on two persons approve, and no more leaves in a day than the limit', async () => {
  await createPaid(shop)
  await createPaid(shop)
  const made = await create()
  assert.equal(made.amount, '108.000000')
  const first = await approve(admin, made)
  assert.deepEqual([first.data.status, first.data.firstApprovedBy !== null], ['open', true])
  assert.match((await approve(admin, made)).error.message, /second person/)
  const alias = await makeOperator(admin)
  for (const own of [alias, await makeOperator(alias), await makeOperator(admin, 'SimpleUser')])
    assert.match((await approve(own, made)).error?.message ?? '', /count as one person/, 'an account of her own making')
  const deadlocks = await countDeadlocks()
  for (let round = 0; round < 20; round += 1) {
    const refused = await Promise.all([approve(admin, made), approve(alias, made)])
    assert.deepEqual(
      refused.map(({ status }) => status),
      [409, 409],
    )
  }
  assert.equal(await countDeadlocks(), deadlocks, 'two who approve at once do not wait for each other')
  const mine = [await makeOperator(admin), await makeOperator(admin)] as const
  const gone = await logInSuperAdmin(shop.host)
  const setFirst = (by: string) =>
    shop.host.db.run(sql`update settlements set first_approved_by = ${by} where id = ${made._id}`)
  for (const change of [sql`disabled_at = now()`, sql`disabled_at = null, role = 'SuperManager'`]) {
    await shop.host.db.run(sql`update users set ${change} where id = ${gone.userId}`)
    await setFirst(`user:${gone.userId}`)
    const again = await approve(admin, made)
    const { status, firstApprovedBy } = again.data
    assert.deepEqual([status, firstApprovedBy], ['open', first.data.firstApprovedBy], 'the first may no longer approve')
  }
  const other = await remake(mine[0], mine[1])
  const one = await remake(other, mine[0])
  for (const own of [one, other])
    assert.match((await approve(own, made)).error?.message ?? '', /count as one person/, 'that make each other')
  await remake(second, one)
  const taken = await shop.host.db.one<{ madeBy: string }>(sql`select made_by from users where id = ${one.userId}`)
  assert.equal(taken.madeBy, second.userId, 'whoever else gives the role answers for the account')
  assert.equal((await approve(second, made)).data.status, 'approved')
  const waiting = await reaches(made, ({ message }) => /54\.000000 USDC left in the last 24 hours/.test(message ?? ''))
  assert.equal(waiting.status, 'approved')
  assert.equal(await shop.chain.balanceOf(ALLOWED), 54_000_000n)
  await aDayPasses()
  await shop.host.db.run(sql`update settlements set next_check_at = now() where id = ${made._id}`)
  await reaches(made, ({ status }) => status === 'paid')
  assert.equal(await shop.chain.balanceOf(ALLOWED), 162_000_000n)
})

const aDayPasses = () => shop.host.db.run(sql`update settlements set released_at = released_at - interval '25 hours'`)

test('the limit of a day holds for what a person sends, too', async () => {
  await createPaid(shop)
  const made = await create()
  const operator = await logInSuperAdmin(keyless)
  const early = await approve(operator, made)
  assert.match(early.error?.message ?? '', /108\.000000 USDC left in the last 24 hours; at most 120\.000000 USDC/)
  await aDayPasses()
  assert.equal((await approve(operator, made)).data.status, 'approved')
  await reaches(made, ({ status }) => status === 'paid')
})

test('what one person approves alone for a company adds up for a day, whichever account of that person approves', async () => {
  await aDayPasses()
  const one = await logInSuperAdmin(shop.host)
  const alias = await makeOperator(one)
  const make = async (): Promise<Settlement> => {
    await createPaid(shop)
    return create()
  }
  const small = await make()
  assert.equal((await approve(one, small)).data.status, 'approved', 'less than the limit')
  await reaches(small, ({ status }) => status === 'paid')
  const next = await make()
  assert.equal(next.amount, '54.000000')
  const { status, firstApprovedBy } = (await approve(alias, next)).data
  assert.deepEqual([status, firstApprovedBy], ['open', `user:${alias.userId}`], '108 of 100')
  assert.match((await approve(alias, next)).error?.message ?? '', /A second person has to.*for one company in 24 hours/)
  assert.match((await approve(one, next)).error?.message ?? '', /count as one person/)
  await aDayPasses()
  const alone = (await approve(one, next)).data
  assert.deepEqual([alone.status, alone.firstApprovedBy], ['approved', null])
  await reaches(next, (seen) => seen.status === 'paid')
  const third = await make()
  assert.equal((await approve(one, third)).data.status, 'open')
  assert.equal((await approve(second, third)).data.status, 'approved')
  await reaches(third, (seen) => seen.status === 'paid')
})

test('a released settlement that waits for money is held back when the books differ, and by the limit of a day', async () => {
  await aDayPasses()
  await createPaid(shop)
  const { chain, host, merchant } = shop
  const wallet = localSigner(keys.CHAIN_31337_REFUND_KEY ?? '').address
  const purse = await chain.balanceOf(wallet)
  await chain.call('anvil_impersonateAccount', wallet)
  await chain.call('anvil_setBalance', wallet, '0x8ac7230489e80000')
  await chain.pay({ from: wallet, to: newAddress(), units: purse })
  const made = await create()
  await approve(admin, made)
  await reaches(made, ({ message }) => /holds 0\.000000 USDC/.test(message ?? ''))
  await eventually(
    () =>
      host.db.one<{ isFree: boolean }>(
        sql`select released_at is null as is_free from settlements where id = ${made._id}`,
      ),
    ({ isFree }) => isFree,
  )
  const before = await chain.balanceOf(ALLOWED)
  const difference = newId()
  await host.db.run(sql`
    insert into ledger_differences (company_id, id, source, subject, what, booked, expected, status, found_at, updated_at)
    values (${merchant.companyId}, ${difference}, 'providers', 'order X', 'word of binance', 'paid', 'failed', 'open',
      now(), now())`)
  await mint(chain.call, wallet, purse)
  const hasten = () => host.db.run(sql`update settlements set next_check_at = now() where id = ${made._id}`)
  await hasten()
  await reaches(made, ({ message }) => /^waits: .*word of binance/.test(message ?? ''))
  await host.db.run(sql`delete from ledger_differences where id = ${difference}`)
  // what others released meanwhile
  await host.db.run(sql`update settlements set released_at = now() where status = 'paid'`)
  await hasten()
  await reaches(made, ({ message }) => /^waits: .*SETTLEMENT_DAY_LIMIT/.test(message ?? ''))
  assert.equal(await chain.balanceOf(ALLOWED), before)
  await aDayPasses()
  await hasten()
  await reaches(made, ({ status }) => status === 'paid')
  const { released } = await host.db.one<{ released: boolean }>(
    sql`select released_at > now() - interval '1 hour' as released from settlements where id = ${made._id}`,
  )
  assert.ok(released, 'counted from when it was sent')
})

test('where a transaction also pays for its data, a relayer is low as soon as that is more than it has', async () => {
  const rpc = createRpc({ url: shop.chain.rpcUrl })
  const plain = networkFor({ chainId: 31337, usdcAddress: shop.chain.usdcAddress })
  const told: string[] = []
  const relayerSigner = { address: newAddress() }
  const look = (hasDataFee: boolean) =>
    watchWallets({
      ...{ db: shop.host.db, clock: Date.now, log: pino({ level: 'silent' }) },
      chains: [{ network: { ...plain, hasDataFee }, rpc, payouts: null, relayerSigner, minUnits: 0n }],
      alarm: async (_tx, { paragraphs }) => void told.push(paragraphs.join(' ')),
    })
  // a contract that answers 0.01 to every question
  const answer = `0x7f${(10n ** 16n).toString(16).padStart(64, '0')}5f5260205ff3`
  const oracle = '0x420000000000000000000000000000000000000f'
  try {
    await shop.chain.call('anvil_setBalance', relayerSigner.address, `0x${(19n * 10n ** 16n).toString(16)}`)
    await look(true)
    assert.deepEqual(told, [], 'no node says what data costs')
    await shop.chain.call('anvil_setCode', oracle, answer)
    await look(false)
    assert.deepEqual(told, [])
    await look(true)
    assert.match(told.join(), /pays for gas .* holds 0\.190000000000000000 of the native coin/)
    // it has recovered, for whoever looks next
    await look(false)
    assert.equal(told.length, 1)
  } finally {
    await shop.chain.call('anvil_setCode', oracle, '0x')
    await rpc.close()
  }
})

test('a wallet that runs low is told once, again after it recovered, and stands in the metrics', async () => {
  const rpc = createRpc({ url: shop.chain.rpcUrl })
  const network = networkFor({ chainId: 31337, usdcAddress: shop.chain.usdcAddress })
  const payouts = { address: localSigner(keys.CHAIN_31337_REFUND_KEY ?? '').address }
  const told: string[] = []
  const look = (chain: Partial<WatchedChain>) =>
    watchWallets({
      ...{ db: shop.host.db, clock: Date.now, log: pino({ level: 'silent' }) },
      chains: [{ network, rpc, payouts, relayerSigner: null, minUnits: 0n, ...chain }],
      alarm: async (_tx, { subject }) => void told.push(subject),
    })
  try {
    await look({})
    assert.deepEqual(told, [])
    for (let times = 0; times < 2; times += 1) await look({ minUnits: 10n ** 15n })
    assert.equal(told.length, 1)
    await look({})
    await look({ minUnits: 10n ** 15n })
    assert.equal(told.length, 2)
    const { wallets, limits, gas } = (await admin.get<OperatorWallets>('operator/wallets')).data
    const [wallet] = wallets.filter((one) => one.wallet === 'payout')
    assert.deepEqual([wallet?.address, wallet?.low], [payouts.address, true])
    assert.equal(wallet?.balance, formatDecimal(await shop.chain.balanceOf(payouts.address), 6))
    assert.deepEqual([limits.dayLimit, limits.twoPersonsFrom], ['120.000000', '100.000000'])
    assert.deepEqual(
      limits.allowList.map((one) => one.toLowerCase()),
      [ALLOWED.toLowerCase()],
    )
    assert.deepEqual([gas[0]?.maxGwei, gas[0]?.override?.allowedBy], ['50.000000000', 'Ada'])
    await shop.host.db.run(sql`update chain_payouts set units = 3000000000000 where status = 'final'`)
    await look({})
    await look({ minUnits: 0n, payouts: { address: newAddress() } })
    assert.equal(told.length, 2, 'it stays low: the pace of the week empties it within three days')
    const poor = newAddress()
    await look({ payouts: null, relayerSigner: { address: poor } })
    assert.equal(told.length, 3, 'a relayer without native coin')
    const metrics = await (await fetch(`${shop.host.baseUrl}/metrics`)).text()
    assert.match(metrics, /^comptoir_relayer_wei\{chain="31337"\} 0$/m)
    assert.match(metrics, /^comptoir_wallet_runway_days\{chain="31337",wallet="payout"\} 0$/m)
  } finally {
    await rpc.close()
  }
})

test('an operator compares three addresses; live gives out none before', async () => {
  const xpub = newTestXpub()
  keys.CHAIN_31337_XPUB = xpub
  const rpc = createRpc({ url: shop.chain.rpcUrl })
  const network = networkFor({ chainId: 31337, usdcAddress: shop.chain.usdcAddress })
  const channel = openCryptoChannel({
    db: shop.host.db,
    clock: Date.now,
    payable: [{ network, rpc, xpub, payouts: null, watchPayout: async () => null }],
    mustConfirm: true,
  })
  const [fault] = (await channel.findNetworkFaults?.()) ?? []
  assert.match(fault?.reason ?? '', /admin confirm-addresses/)
  await shop.chain.pay({ to: deriveAddress(xpub, 1), units: 54_000_000n })
  const asked = await run(['confirm-addresses', '--chain', '31337'])
  assert.equal(asked.code, 1)
  assert.match(asked.text, /\n0\/1 holds 54(\.0+)? USDC, and no order here had it: another installation/)
  for (const index of [0, 1, 2]) assert.ok(asked.text.includes(deriveAddress(xpub, index)))
  assert.match(asked.text, /Nothing was confirmed/)
  assert.match(asked.text, /No other installation may use this key/)
  assert.equal((await run(['confirm-addresses', '--chain', '99'])).code, 2)
  assert.equal((await run(['confirm-addresses', '--chain', '31337', '--yes'])).code, 0)
  assert.deepEqual(await channel.findNetworkFaults?.(), [])
  await rpc.close()
})

test('two tokens of one name that one transaction sent are reported as one sum', async () => {
  const { db } = shop.host
  const { toAddress } = await shop.createAwaiting()
  for (const [id, units] of [
    ['a', 5],
    ['b', 7],
  ] as const)
    await db.run(sql`
      insert into chain_transfers (id, chain_id, tx_hash, nth, log_index, block_number, block_hash, block_at, token,
        symbol, from_address, to_address, units, status, final_at, change, is_usdc)
      values (${`twin-${id}`}, 31337, '0xtwins', 0, 0, 1, 'x', now(), ${`0x${id.repeat(40)}`}, 'TWIN',
        ${newAddress()}, ${toAddress.toLowerCase()}, ${units}, 'seen', now(), nextval('chain_changes'), false)`)
  const report = await openCryptoChannel({ db, clock: Date.now, payable: [] }).fetchPayment({
    ...{ companyId: shop.merchant.companyId, merchantReference: 'twins', providerReference: toAddress, network: 31337 },
    ...{ due: { asset: 'USDC', units: 1n }, fiat: { asset: 'EUR', units: 1n }, expiresAt: new Date() },
  })
  assert.ok(report.outcome === 'seen')
  assert.deepEqual(report.unmatched, [{ asset: 'TWIN', units: 12n, reference: '0xtwins:0' }])
})

test('the index of every address is exported, with the gap limit that a wallet needs', async () => {
  keys.CHAIN_31337_XPUB = TEST_XPUB
  for (let times = 0; times < 22; times += 1) await shop.createAwaiting()
  const paid = await createPaid(shop)
  const { stdout, text } = await run(['addresses', '--chain', '31337'])
  const [head, ...rows] = stdout.trim().split('\n')
  assert.equal(head, 'path,index,address,company,order,created_at,received')
  rows.forEach((row, index) => {
    assert.ok(row.startsWith(`0/${index},${index},${deriveAddress(TEST_XPUB, index)},`), row)
  })
  assert.ok(rows.at(-1)?.includes(paid.code))
  assert.match(text, /the longest row without any is 22\. .*set the gap limit to 23 or more/)
  const { companyId } = shop.merchant
  const none = await run(['addresses', '--company', companyId])
  assert.equal(none.code, 2)
  assert.match(none.text, /has no wallet of its own with an xpub/)
  const xpub = newTestXpub()
  const { id: keyId } = parseXpub(xpub)
  const address = deriveAddress(xpub, 0)
  await shop.host.db.run(sql`insert into deposit_keys (id, xpub, company_id) values (${keyId}, ${xpub}, ${companyId})`)
  await shop.host.db.run(sql`
    insert into deposit_addresses (address, company_id, reference, key_id, key_index, watched_until)
    values (${address.toLowerCase()}, ${companyId}, 'own', ${keyId}, 0, now())`)
  const own = (await run(['addresses', '--company', companyId])).stdout.trim().split('\n')
  assert.equal(own.length, 2, 'the company’s own addresses and no other')
  assert.ok(own[1]?.startsWith(`0/0,0,${address},${companyId},,`), own[1])
})
