import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { mnemonicToAccount } from 'viem/accounts'
import { encodeFunctionData } from 'viem/utils'
import { PAYER } from '../sandbox/chain/throwaway-keys.ts'
import { auditDeposits, auditWallets } from '../src/chain/deposits/balance-audit.ts'
import { openEndpoints } from '../src/chain/endpoints/endpoints.ts'
import { createRpc } from '../src/chain/endpoints/rpc.ts'
import { networkFor } from '../src/chain/networks.ts'
import { localSigner } from '../src/chain/payout/signer.ts'
import { DEFAULT_ACCOUNT, openAccount, signBatch, signerOfAccount } from '../src/chain/sweep/sweep-batch.ts'
import { parseBatch } from '../src/chain/sweep/sweep-batch-file.ts'
import { sql } from '../src/db/db.ts'
import { describeVerdict, verifyLedger } from '../src/ledger/ledger-verify.ts'
import { bareEnv } from './harness/bare-env.ts'
import { type Operator, openOperator, runOperator } from './harness/installation.ts'
import { MAIN } from './harness/programs.ts'
import { createPaid, newAddress, payoutEnv, refundReaches, revert } from './harness/refunds.ts'
import { eventually, TEST_MASTER_KEY } from './harness/service.ts'
import { chainEnv, openShop, type Payable, type Shop } from './harness/shop.ts'

/** A phrase of BIP-39's published test vectors: nothing of worth may ever come to its addresses. */
const PHRASE = 'legal winner thank year wave sausage worth useful legal winner thank yellow'
const XPUB = mnemonicToAccount(PHRASE, { path: "m/44'/60'/0'" }).getHdKey().publicExtendedKey

let shop: Shop
let folder: string
let env: Record<string, string>
let wallet: string
let relayer: string
let mining: NodeJS.Timeout
let operator: Operator

const file = (name: string): string => join(folder, name)

before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'comptoir-sweep-'))
  let keys: Record<string, string> = {}
  shop = await openShop({
    env: async (chain) => {
      keys = { ...(await payoutEnv(chain)), CHAIN_31337_XPUB: XPUB }
      return keys
    },
  })
  wallet = localSigner(keys.CHAIN_31337_REFUND_KEY ?? '').address
  relayer = localSigner(keys.CHAIN_31337_RELAYER_KEY ?? '').address
  env = {
    DATA_DIR: folder,
    DATABASE_URL: shop.host.db.connectionString,
    MASTER_KEY: TEST_MASTER_KEY.toString('base64'),
    ...chainEnv(shop.chain),
    ...keys,
  }
  writeFileSync(file('phrase'), `${PHRASE}\n`)
  operator = openOperator()
  mining = setInterval(() => void shop.chain.mine().catch(() => {}), 150)
})
after(async () => {
  clearInterval(mining)
  await operator?.close()
  await shop?.stop()
  rmSync(folder, { recursive: true, force: true })
})

type Ran = { code: number | null; stdout: string; text: string }

async function run(args: string[], given = env): Promise<Ran> {
  const { code, out, err } = await operator.run(['sweep', ...args], given, folder)
  return { code, stdout: out, text: out + err }
}

/** The machine of the signer knows nothing but its files. */
const sign = (args: string[]): Promise<Ran> => run(['sign', ...args], {})

type Plan = {
  deposits: { network: number; address: string; amount: string }[]
  total: string
  fee: string
  dust: string
  held: { address: string; reason: string }[]
}
const plan = async (...args: string[]): Promise<Plan> => {
  const { stdout, text } = await run(args)
  assert.match(stdout, /^\{/, text)
  return JSON.parse(stdout) as Plan
}

/** Sum of an account in the books of the shop's company. */
async function booked(account: string, companyId: string = shop.merchant.companyId): Promise<bigint> {
  const { units } = await shop.host.db.one<{ units: string }>(sql`
    select coalesce(sum(units), 0) as units from ledger_entries where company_id = ${companyId} and account = ${account}`)
  return BigInt(units)
}

async function checkBooks(): Promise<void> {
  const verdict = await verifyLedger(shop.host.db)
  assert.equal(verdict.difference, null, describeVerdict(verdict))
  const rpc = createRpc({ url: shop.chain.rpcUrl })
  const network = networkFor({ chainId: 31337, usdcAddress: shop.chain.usdcAddress })
  try {
    const chain = { db: shop.host.db, network, endpoints: openEndpoints(network, [rpc]) }
    const audits = [await auditDeposits(chain), await auditWallets(chain, async () => false)]
    assert.deepEqual(
      audits.flatMap(({ faults }) => faults),
      [],
    )
  } finally {
    await rpc.close()
  }
}

const nativeOf = async (address: string): Promise<bigint> =>
  BigInt(await shop.chain.call<string>('eth_getBalance', address, 'latest'))

/** Orders that are paid at once, a few in each transaction, each with an amount of its own. */
async function createManyPaid(count: number): Promise<Payable[]> {
  const orders: Payable[] = []
  while (orders.length < count) {
    const some = Array.from({ length: Math.min(10, count - orders.length) }, (_, index) =>
      shop.createAwaiting({ amount: 10 + (orders.length + index) / 100 }),
    )
    orders.push(...(await Promise.all(some)))
  }
  for (let start = 0; start < count; start += 10)
    await shop.chain.payMany(orders.slice(start, start + 10).map(({ toAddress: to, units }) => ({ to, units })))
  await shop.makeFinal()
  const paid = () =>
    shop.host.db.one<{ paid: bigint }>(sql`
      select count(*) as paid from orders where status = 'PAID' and code = any(${orders.map(({ code }) => code)})`)
  await eventually(paid, (seen) => seen.paid === BigInt(count))
  return orders
}

/** As if the minute were over for which the killed process keeps what it was working on. */
async function endLeases(): Promise<void> {
  await shop.host.db.run(sql`update sweeps set lease_until = now() where lease_until is not null`)
  await shop.host.db.run(sql`update chain_payouts set lease_until = now() where lease_until is not null`)
}

const done = () =>
  eventually(
    () => shop.host.db.one<{ open: bigint }>(sql`select count(*) as open from sweeps where status = 'sending'`),
    ({ open }) => open === 0n,
    // one that is not final at the fifth look is looked at again after ten seconds, then after thirty
    60_000,
  )

/** `DEPOSITS=200 npm test -- test/sweep.test.ts` brings as many home as a busy week leaves. */
const DEPOSITS = Number(process.env.DEPOSITS ?? 20)

test('many deposits are planned, signed offline, sent, killed on the way, and come home to the unit', async () => {
  const orders = await createManyPaid(DEPOSITS)
  const open = await shop.createAwaiting()
  const total = orders.reduce((sum, { units }) => sum + units, 0n)
  const planned = await plan()
  assert.equal(planned.deposits.length, DEPOSITS)
  assert.equal(BigInt(planned.total.replace('.', '')), total)
  assert.deepEqual([planned.dust, Number(planned.fee) > 0], ['0.000000', true])
  assert.deepEqual(
    new Set(planned.deposits.map(({ address }) => address.toLowerCase())),
    new Set(orders.map(({ toAddress }) => toAddress.toLowerCase())),
  )
  assert.equal((await run(['--out', file('batch.json')])).code, 0)
  const signed = await sign(['--in', file('batch.json'), '--mnemonic-file', file('phrase'), '--to', wallet])
  assert.equal(signed.code, 0, signed.text)
  const [before, gas] = [await shop.chain.balanceOf(wallet), await nativeOf(relayer)]
  const child = spawn(process.execPath, [MAIN, 'sweep', 'send', file('batch.json')], {
    ...{ env: { ...bareEnv(), ...env }, cwd: folder },
  })
  const some = () =>
    shop.host.db.one<{ sent: bigint }>(sql`
      select count(*) as sent from chain_payouts where kind = 'sweep' and status <> 'reserved'`)
  await eventually(some, ({ sent }) => sent >= BigInt(DEPOSITS / 10))
  child.kill('SIGKILL')
  await endLeases()
  await done()
  assert.equal((await shop.chain.balanceOf(wallet)) - before, total)
  for (const { toAddress } of orders) assert.equal(await shop.chain.balanceOf(toAddress), 0n)
  assert.deepEqual([await booked('wallet'), await booked('payer_clearing')], [total, 0n])
  assert.equal(await booked('network_fees', ''), gas - (await nativeOf(relayer)), 'the fee is what the relayer paid')
  await checkBooks()
  const again = await run(['send', file('batch.json'), '--json'])
  assert.equal(JSON.parse(again.stdout).done, DEPOSITS, again.text)
  assert.equal((await shop.chain.balanceOf(wallet)) - before, total)
  assert.deepEqual((await plan()).deposits, [])
  await shop.chain.pay({ to: open.toAddress, units: open.units })
})

test('the books say where the money lies: what is refunded leaves the wallet', async () => {
  const before = await booked('wallet')
  const order = await createPaid(shop)
  await revert(shop, order.code, { amount: '4', address: newAddress() })
  await refundReaches(shop, order.orderId, 'settled')
  assert.equal(await booked('wallet'), before - 4_000_000n)
  await checkBooks()
})

test('two batches of the same deposits move the money once, and a moved one is refused', async () => {
  const order = await createPaid(shop)
  for (const name of ['one.json', 'two.json']) {
    assert.equal((await run(['--out', file(name)])).code, 0)
    const { code, text } = await sign(['--in', file(name), '--mnemonic-file', file('phrase'), '--to', wallet])
    assert.equal(code, 0, text)
  }
  const results = await Promise.all(
    ['one.json', 'two.json'].map((name) => runOperator(['sweep', 'send', file(name), '--json'], env, folder)),
  )
  for (const { code, out, err } of results) assert.equal(code, 0, out + err)
  assert.equal(await shop.chain.balanceOf(order.toAddress), 0n)
  const { times } = await shop.host.db.one<{ times: bigint }>(
    sql`select count(*) as times from sweeps where address = ${order.toAddress.toLowerCase()}`,
  )
  assert.equal(times, 1n)
  await checkBooks()
  await shop.host.db.run(sql`delete from sweeps where address = ${order.toAddress.toLowerCase()}`)
  const lost = await run(['send', file('one.json')])
  assert.match(lost.text, /was moved with this authorization before/)
  await shop.host.db.run(sql`
    insert into sweeps (company_id, id, chain_id, address, number, to_address, units, status, sent_by, tx_hash,
      created_at, updated_at)
    select ${shop.merchant.companyId}, id, chain_id, from_address, 1, to_address, units, 'done', 'operator', tx_hash,
      created_at, updated_at from chain_payouts where from_address = ${order.toAddress.toLowerCase()}`)
  await checkBooks()
})

test('the offline signer refuses another destination, another wallet and a changed file', async () => {
  const order = await createPaid(shop)
  await run(['--out', file('plain.json')])
  const args = ['--in', file('plain.json'), '--mnemonic-file', file('phrase')]
  const [elsewhere, unsaid, unsigned] = await Promise.all([
    sign([...args, '--to', newAddress()]),
    sign(args),
    run(['send', file('plain.json')]),
  ])
  assert.match(elsewhere.text, /which --to does not name\. Not signed/)
  assert.equal(unsaid.code, 2)
  assert.match(unsigned.text, /is not signed yet/)
  const open = (phrase: string) => openAccount(phrase, { path: DEFAULT_ACCOUNT, passphrase: '' })
  const text = readFileSync(file('plain.json'), 'utf8')
  const other = open('letter advice cage absurd amount doctor acoustic avoid letter advice cage above')
  await assert.rejects(signBatch(parseBatch(text), signerOfAccount(other)), /does not belong to this wallet/)
  assert.throws(() => open('not a phrase'), { message: /no recovery phrase/ })
  const batch = JSON.parse(text)
  const changed = (what: object): string => JSON.stringify({ ...batch, deposits: [{ ...batch.deposits[0], ...what }] })
  for (const what of [{ amount: '1.000000' }, { nonce: `0x${'ab'.repeat(32)}` }, { network: 1 }])
    assert.throws(() => parseBatch(changed(what)), /was changed|says nothing about network 1/)
  assert.throws(() => parseBatch('{}'), /is no batch/)
  writeFileSync(file('forged.json'), changed({ signature: `0x${'11'.repeat(64)}1b` }))
  assert.match((await run(['send', file('forged.json')])).text, /signature for 0x[0-9a-fA-F]{40} is not its own/)
  assert.equal(await shop.chain.balanceOf(order.toAddress), order.units)
})

test('a signed file is not sent to a place that loses the money, nor to another one than --to names', async () => {
  const order = await createPaid(shop)
  await run(['--out', file('aside.json'), '--to', newAddress()])
  const batch = JSON.parse(readFileSync(file('aside.json'), 'utf8'))
  // since it was planned, its destination became the relayer
  const moved = { ...batch, networks: batch.networks.map((one: object) => ({ ...one, to: relayer })) }
  writeFileSync(file('moved.json'), JSON.stringify(moved))
  const signing = ['--mnemonic-file', file('phrase')]
  await sign(['--in', file('moved.json'), ...signing, '--to', relayer])
  await sign(['--in', file('aside.json'), ...signing, '--to', batch.networks[0].to])
  for (const args of [
    ['send', file('moved.json')],
    ['--safe', file('safe.json'), '--in', file('moved.json')],
  ]) {
    const { code, text } = await run(args)
    assert.equal(code, 1)
    assert.match(text, new RegExp(`${relayer} is a wallet of this service\\. Nothing was sent`))
  }
  assert.match((await run(['send', file('aside.json'), '--to', wallet])).text, /, not to 0x\w+\. Nothing was sent/)
  assert.equal(await shop.chain.balanceOf(order.toAddress), order.units)
})

test('a file for the wallet that pays is not sent once another one pays, unless --to names the old one', async () => {
  const order = await createPaid(shop)
  await run(['--out', file('own.json')])
  await sign(['--in', file('own.json'), '--mnemonic-file', file('phrase'), '--to', wallet])
  const rotated = { ...env, CHAIN_31337_REFUND_KEY: `0x${'5'.repeat(64)}` }
  const refused = await run(['send', file('own.json')], rotated)
  assert.equal(refused.code, 1)
  assert.match(refused.text, /the wallet that paid when it was planned; 0x\w{40} pays there now\. Nothing was sent/)
  assert.equal(await shop.chain.balanceOf(order.toAddress), order.units)
  const { CHAIN_31337_REFUND_KEY: _, ...without } = env
  assert.match((await run(['send', file('own.json')], without)).text, /no wallet pays there any more/)
  const sent = await run(['send', file('own.json'), '--to', wallet, '--no-wait'], rotated)
  assert.equal(sent.code, 0, sent.text)
})

test('money stays while its order is open, after a failed screening, and below the minimum', async () => {
  const [open, failed, small] = [await shop.createAwaiting(), await shop.createAwaiting(), await createPaid(shop)]
  for (const { toAddress: to } of [open, failed]) await shop.chain.pay({ to, units: 1_500_000n })
  await shop.makeFinal()
  await shop.host.db.run(sql`update orders set status = 'KYT_FAILED' where id = ${failed.orderId}`)
  const doubtful = await createPaid(shop)
  await shop.host.db.run(sql`
    insert into screenings (company_id, id, purpose, subject_id, network, address, status, opened_at, updated_at)
    values (${shop.merchant.companyId}, 'held', 'payment', 'p', 31337, ${shop.chain.payer.toLowerCase()}, 'held', now(), now())`)
  const held = await eventually(
    async () => (await plan()).held,
    (list) => list.length >= 3,
  )
  await shop.host.db.run(sql`delete from screenings where id = 'held'`)
  const reasons = new Map(held.map(({ address, reason }) => [address, reason]))
  assert.match(reasons.get(open.toAddress) ?? '', /its order is AWAITING/)
  assert.match(reasons.get(failed.toAddress) ?? '', /screening failed/)
  assert.match(reasons.get(doubtful.toAddress) ?? '', /screening of a sender is not done/)
  const high = await plan('--min', '60')
  assert.ok(!high.deposits.some(({ address }) => address === small.toAddress))
  assert.ok(Number(high.dust) >= 54)
  await shop.host.db.run(sql`update orders set status = 'AWAITING' where id = ${failed.orderId}`)
})

test('what came to a paid order is planned once it is final, and not before', async () => {
  const order = await createPaid(shop)
  const planned = async () => (await plan()).deposits.find(({ address }) => address === order.toAddress)?.amount
  clearInterval(mining)
  try {
    await shop.chain.pay({ to: order.toAddress, units: 2_000_000n })
    const seen = () =>
      shop.host.db.many(sql`select from chain_transfers where to_address = ${order.toAddress.toLowerCase()}`)
    await eventually(seen, ({ length }) => length === 2)
    assert.equal(await planned(), '54.000000')
  } finally {
    mining = setInterval(() => void shop.chain.mine().catch(() => {}), 150)
  }
  await eventually(planned, (amount) => amount === '56.000000')
})

test('after a change of the contract, money in the earlier one is held, and hides none in the present one', async () => {
  const { db } = shop.host
  const order = await createPaid(shop)
  const other = (await shop.chain.deployOtherToken()).toLowerCase()
  const { address } = await db.one<{ address: string }>(sql`
    select address from sweeps where status = 'done' and units >= 2000000 order by id limit 1`)
  const txHash = await shop.chain.pay({ to: address, units: 2_000_000n, token: other })
  // as the service reads it with the new setting
  await db.run(sql`
    insert into chain_transfers select (jsonb_populate_record(t, jsonb_build_object(
      'id', 'in-other', 'tx_hash', ${txHash}::text, 'token', ${other}::text, 'units', 2000000))).*
    from chain_transfers t where to_address = ${address} limit 1`)
  const { stdout, text } = await run([], { ...env, CHAIN_31337_USDC: other })
  assert.match(stdout, /^\{/, text)
  const { deposits, held, total } = JSON.parse(stdout) as Plan
  assert.deepEqual(
    deposits.map((one) => [one.address.toLowerCase(), one.amount]),
    [[address, '2.000000']],
  )
  assert.equal(total, '2.000000')
  const reason = held.find((one) => one.address === order.toAddress)?.reason ?? ''
  assert.match(reason, /contract 0x\w{40}, which CHAIN_31337_USDC does not name now/)
  assert.ok(reason.toLowerCase().includes(shop.chain.usdcAddress.toLowerCase()))
  await db.run(sql`delete from chain_transfers where id = 'in-other'`)
})

type SafeFile = {
  chainId: string
  transactions: {
    to: `0x${string}`
    value: string
    contractMethod: { name: string; inputs: { name: string; type: string }[] }
    contractInputsValues: Record<string, string>
  }[]
}

test('a Safe’s file holds the authorizations; whoever submits them, the service books them', async () => {
  const order = await createPaid(shop)
  await run(['--out', file('safe-batch.json')])
  const unsigned = await run(['--safe', file('safe.json'), '--in', file('safe-batch.json')])
  assert.match(unsigned.text, /is not signed yet/)
  await sign(['--in', file('safe-batch.json'), '--mnemonic-file', file('phrase'), '--to', wallet])
  const nowhere = await run(['--safe', file('nowhere/safe.json'), '--in', file('safe-batch.json')])
  assert.match(nowhere.text, /Cannot write .*nowhere\/safe\.json.*Name a file in a folder that exists/)
  const { deposits } = await plan()
  assert.ok(
    deposits.some(({ address }) => address === order.toAddress),
    'without a file, no sweep is under way',
  )
  const made = await run(['--safe', file('safe.json'), '--in', file('safe-batch.json')])
  assert.equal(made.code, 0, made.text)
  assert.deepEqual(
    readdirSync(folder).filter((name) => name.endsWith('.draft')),
    [],
  )
  const { chainId, transactions } = JSON.parse(readFileSync(file('safe.json'), 'utf8')) as SafeFile
  assert.equal(chainId, '31337')
  const before = await booked('wallet')
  for (const { to, contractMethod, contractInputsValues } of transactions) {
    const abi = [{ type: 'function', stateMutability: 'nonpayable', outputs: [], ...contractMethod }] as const
    const args = contractMethod.inputs.map(({ name }) => contractInputsValues[name])
    const data = encodeFunctionData({ abi, functionName: 'transferWithAuthorization', args } as never)
    await shop.chain.call('eth_sendTransaction', { from: PAYER.address, to, data })
  }
  await done()
  assert.equal(await shop.chain.balanceOf(order.toAddress), 0n)
  assert.ok((await booked('wallet')) > before)
  const { fee } = await shop.host.db.one<{ fee: string | null }>(
    sql`select fee_wei as fee from sweeps where address = ${order.toAddress.toLowerCase()}`,
  )
  assert.equal(fee, null, 'someone else paid the gas')
  await checkBooks()
})

test('a deposit that was written to a Safe’s file is sent from here, if its batch is sent after all', async () => {
  const order = await createPaid(shop)
  await run(['--out', file('after-all.json')])
  await sign(['--in', file('after-all.json'), '--mnemonic-file', file('phrase'), '--to', wallet])
  const made = await run(['--safe', file('unused.json'), '--in', file('after-all.json')])
  assert.equal(made.code, 0, made.text)
  const sent = await run(['send', file('after-all.json'), '--json'])
  assert.equal(sent.code, 0, sent.text)
  assert.equal(await shop.chain.balanceOf(order.toAddress), 0n)
  await checkBooks()
})

test('a file that sends elsewhere what another file of the same plan has sent is refused', async () => {
  const order = await createPaid(shop)
  const other = newAddress()
  for (const [name, to] of [
    ['home.json', wallet],
    ['elsewhere.json', other],
  ] as const) {
    await run(['--out', file(name), '--to', to])
    await sign(['--in', file(name), '--mnemonic-file', file('phrase'), '--to', to])
  }
  assert.equal((await run(['send', file('home.json'), '--to', wallet])).code, 0)
  const { code, text } = await run(['send', file('elsewhere.json'), '--to', other])
  assert.equal(code, 1, text)
  assert.match(text, new RegExp(`54\\.0+ USDC of ${order.toAddress} was sent to ${wallet} by another file, not as`))
  assert.equal(await shop.chain.balanceOf(other), 0n)
})

test('without a signer here, --sign says what to do; wrong use, and a place that loses the money, is exit code 2', async () => {
  await createPaid(shop)
  const refused = await run(['--sign'])
  assert.equal(refused.code, 1)
  assert.match(refused.text, /only their public key is known.*--out/s)
  const { toAddress } = await shop.createAwaiting()
  for (const to of [`0x${'0'.repeat(40)}`, shop.chain.usdcAddress, toAddress, relayer]) {
    const { code, text } = await run(['--out', file('lost.json'), '--to', to])
    assert.deepEqual(
      [code, text.includes(`${to} `) && text.includes('Name another address with --to')],
      [2, true],
      text,
    )
  }
  assert.equal((await run(['--out', file('home.json'), '--to', wallet])).code, 0)
  const wrong = [['--sign', '--out', file('x')], ['fly'], ['--chain', '99'], ['--min', 'one']]
  const codes = await Promise.all(wrong.map(async (args) => (await run(args)).code))
  assert.deepEqual(codes, [2, 2, 2, 2])
})
