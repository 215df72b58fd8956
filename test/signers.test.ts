import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { createCipheriv, randomBytes, scryptSync } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { promisify } from 'node:util'
import { HDKey } from '@scure/bip32'
import { privateKeyToAccount } from 'viem/accounts'
import { concat, keccak256, recoverTypedDataAddress } from 'viem/utils'
import { mint } from '../sandbox/chain/token.ts'
import { openKeystore } from '../src/chain/payout/keystore.ts'
import { web3signer } from '../src/chain/payout/web3signer.ts'
import { signerChecks } from '../src/checks/signer-checks.ts'
import { readConfig } from '../src/config/config.ts'
import { sql } from '../src/db/db.ts'
import { type Client, logInSuperAdmin } from './harness/accounts.ts'
import { bareEnv } from './harness/bare-env.ts'
import type { TestChain } from './harness/chain.ts'
import { MAIN } from './harness/programs.ts'
import { createPaid, newAddress, refundReaches, revert } from './harness/refunds.ts'
import { eventually } from './harness/service.ts'
import { openShop, type Shop } from './harness/shop.ts'
import { startWeb3Signer, type Web3Signer } from './harness/web3signer.ts'

const newKey = () => `0x${randomBytes(32).toString('hex')}` as const
const PASSWORD = 'correct horse battery staple'

/** Test vector of the Web3 Secret Storage definition, with the password `testpassword`. */
const VECTOR_KEY = '7a28b5ba57c53603b0b07b56bba752f7784bf506fa95edc395f5cf6c7514fe9d'
const PBKDF2_VECTOR = {
  crypto: {
    cipher: 'aes-128-ctr',
    cipherparams: { iv: '6087dab2f9fdbbfaddc31a909735c1e6' },
    ciphertext: '5318b4d5bcd28de64ee5559e671353e16f075ecae9f99c7a79a38af5f869aa46',
    kdf: 'pbkdf2',
    kdfparams: {
      c: 262144,
      dklen: 32,
      prf: 'hmac-sha256',
      salt: 'ae3cd4e7013836a3df6bd7241b12db061dbe2c6785853cce422d148a624ce0bd',
    },
    mac: '517ead924a9d0dc3124507e3393d175ce3ff7c1e96529c6c555ce9e51205e9b2',
  },
  id: '3198bc9c-6672-5ab3-d995-4942343ae5b6',
  version: 3,
}
/** A key file of go-ethereum's own tests, with the password `foobar`. */
const SCRYPT_VECTOR = {
  address: '7ef5a6135f1fd6a02593eedc869c6d41d934aef8',
  crypto: {
    cipher: 'aes-128-ctr',
    cipherparams: { iv: '8df6caa7ff1b00c4e871f002cb7921ed' },
    ciphertext: '1d0839166e7a15b9c1333fc865d69858b22df26815ccf601b28219b6192974e1',
    kdf: 'scrypt',
    kdfparams: {
      dklen: 32,
      n: 8,
      p: 16,
      r: 8,
      salt: 'e5e6ef3f4ea695f496b643ebd3f75c0aa58ef4070e90c80c5d3fb0241bf1595c',
    },
    mac: '6d16dfde774845e4585357f24bce530528bc69f4f84e1e22880d34fa45c273e5',
  },
  version: 3,
}

/** A keystore as wallets write it, with a light scrypt so that tests are quick. */
function writeKeystore(privateKey: `0x${string}`): string {
  const salt = randomBytes(32)
  const iv = randomBytes(16)
  const derived = scryptSync(PASSWORD, salt, 32, { N: 1024, r: 8, p: 1 })
  const cipher = createCipheriv('aes-128-ctr', derived.subarray(0, 16), iv)
  const ciphertext = Buffer.concat([cipher.update(Buffer.from(privateKey.slice(2), 'hex')), cipher.final()])
  return JSON.stringify({
    version: 3,
    address: privateKeyToAccount(privateKey).address.slice(2).toLowerCase(),
    crypto: {
      cipher: 'aes-128-ctr',
      cipherparams: { iv: iv.toString('hex') },
      ciphertext: ciphertext.toString('hex'),
      kdf: 'scrypt',
      kdfparams: { dklen: 32, n: 1024, r: 8, p: 1, salt: salt.toString('hex') },
      mac: keccak256(concat([derived.subarray(16), ciphertext])).slice(2),
    },
  })
}

let folder: string
let signer: Web3Signer
const [keptRefund, keptRelayer] = [newKey(), newKey()]
const [signerRefund, signerRelayer] = [newKey(), newKey()]

before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'comptoir-signers-'))
  signer = await startWeb3Signer({ privateKeys: [signerRefund, signerRelayer] })
})
after(async () => {
  rmSync(folder, { recursive: true, force: true })
  await signer?.stop()
})

const fund = async (chain: TestChain, refund: `0x${string}`, relayer: `0x${string}`): Promise<void> => {
  await mint(chain.call, privateKeyToAccount(refund).address, 1_000_000_000n)
  await chain.call('anvil_setBalance', privateKeyToAccount(relayer).address, '0x56bc75e2d63100000')
}

const keystoreEnv = async (chain: TestChain): Promise<Record<string, string>> => {
  await fund(chain, keptRefund, keptRelayer)
  const file = join(folder, 'refund.json')
  writeFileSync(file, writeKeystore(keptRefund))
  return {
    CHAIN_31337_REFUND_KEY_FILE: file,
    CHAIN_31337_REFUND_PASSWORD: PASSWORD,
    CHAIN_31337_RELAYER_KEY: writeKeystore(keptRelayer),
    CHAIN_31337_RELAYER_PASSWORD: PASSWORD,
  }
}

const web3signerEnv = async (chain: TestChain): Promise<Record<string, string>> => {
  await fund(chain, signerRefund, signerRelayer)
  return {
    CHAIN_31337_WEB3SIGNER_URL: signer.url,
    CHAIN_31337_REFUND_ADDRESS: privateKeyToAccount(signerRefund).address,
    CHAIN_31337_RELAYER_ADDRESS: privateKeyToAccount(signerRelayer).address.toLowerCase(),
  }
}

type Settlement = { _id: string; status: string; message: string | null; amount: string }

async function settle(shop: Shop, admin: Client, to: string, until: (one: Settlement) => boolean): Promise<Settlement> {
  await shop.host.db.run(sql`
    update companies set settlement_address = ${to}, settlement_network = 31337 where id = ${shop.merchant.companyId}`)
  const { data: made } = await admin.post<Settlement>('settlements', { companyId: shop.merchant.companyId })
  await admin.post(`settlements/${made._id}/approve`)
  return (await eventually(
    async () => {
      await shop.chain.mine()
      return (await admin.get<Settlement[]>('settlements')).data.find(({ _id }) => _id === made._id)
    },
    (one) => one !== undefined && until(one),
  )) as Settlement
}

/** A refund and a settlement reach their addresses, from the wallet that the settings name. */
async function payBoth(shop: Shop, wallet: string): Promise<void> {
  const admin = await logInSuperAdmin(shop.host)
  const order = await createPaid(shop)
  const before = await shop.chain.balanceOf(wallet)
  const [payer, company] = [newAddress(), newAddress()]
  await revert(shop, order.code, { amount: '4', address: payer })
  await refundReaches(shop, order.orderId, 'settled')
  const { amount } = await settle(shop, admin, company, ({ status }) => status === 'paid')
  assert.equal(amount, '50.000000')
  assert.equal(await shop.chain.balanceOf(payer), 4_000_000n)
  assert.equal(await shop.chain.balanceOf(company), 50_000_000n)
  assert.equal(before - (await shop.chain.balanceOf(wallet)), 54_000_000n)
}

test('published keystores open, and only with their password', () => {
  assert.equal(openKeystore(JSON.stringify(PBKDF2_VECTOR), 'testpassword'), VECTOR_KEY)
  const key = openKeystore(JSON.stringify(SCRYPT_VECTOR), 'foobar')
  assert.equal(privateKeyToAccount(`0x${key}`).address.toLowerCase(), `0x${SCRYPT_VECTOR.address}`)
  for (const vector of [PBKDF2_VECTOR, SCRYPT_VECTOR])
    assert.throws(() => openKeystore(JSON.stringify(vector), 'another'), /password does not open/)
  const { crypto } = SCRYPT_VECTOR
  const refuses = (params: Record<string, unknown>, say: RegExp): void => {
    const odd = { version: 3, crypto: { ...crypto, kdfparams: { ...crypto.kdfparams, ...params } } }
    assert.throws(() => openKeystore(JSON.stringify(odd), 'foobar'), say)
  }
  // the parameters of the definition's own scrypt example
  refuses({ n: 262_144, r: 1, p: 8 }, /n 262144 is too large for r 1 \(RFC 7914\)\. Export it again/)
  refuses({ n: 262_143 }, /power of two/)
  refuses({ n: 1_048_576, r: 8 }, /more than 512 MB/)
  refuses({ n: 1024, r: 8, p: 100_000 }, /would take minutes/)
  refuses({ n: '1e9' }, /power of two/)
  const slow = { ...PBKDF2_VECTOR.crypto.kdfparams, c: 4_000_000_000 }
  const endless = { version: 3, crypto: { ...PBKDF2_VECTOR.crypto, kdfparams: slow } }
  assert.throws(() => openKeystore(JSON.stringify(endless), 'x'), /has 4000000000 rounds/)
  assert.throws(() => openKeystore('{"version":1}', 'x'), /not of version 3/)
  assert.throws(() => openKeystore('{', 'x'), /not valid JSON/)
})

test('a refund and a settlement are signed by encrypted keystores', async () => {
  const shop = await openShop({ env: keystoreEnv })
  try {
    await payBoth(shop, privateKeyToAccount(keptRefund).address)
  } finally {
    await shop.stop()
  }
})

test('a refund and a settlement are signed by Web3Signer; while it fails they wait with the reason', async () => {
  const shop = await openShop({ env: web3signerEnv })
  try {
    await payBoth(shop, privateKeyToAccount(signerRefund).address)
    const admin = await logInSuperAdmin(shop.host)
    await createPaid(shop)
    signer.fail('unavailable')
    const to = newAddress()
    const waiting = await settle(shop, admin, to, ({ message }) => /Web3Signer: it answers 503/.test(message ?? ''))
    assert.equal(waiting.status, 'approved')
    signer.fail('other-key')
    const look = () =>
      admin.get<Settlement[]>('settlements').then(({ data }) => data.find((s) => s._id === waiting._id))
    await eventually(look, (one) => /not one of 0x/.test(one?.message ?? ''))
    assert.equal(await shop.chain.balanceOf(to), 0n)
    signer.fail(null)
    const mined = async () => {
      await shop.chain.mine()
      return look()
    }
    await eventually(mined, (one) => one?.status === 'paid')
    assert.equal(await shop.chain.balanceOf(to), 54_000_000n)
  } finally {
    signer.fail(null)
    await shop.stop()
  }
})

test('while Web3Signer is away nothing counts as signed, and a refund can be rejected', async () => {
  const shop = await openShop({ env: web3signerEnv })
  try {
    const { db } = shop.host
    const admin = await logInSuperAdmin(shop.host)
    const order = await createPaid(shop)
    signer.fail('unavailable')
    const to = newAddress()
    await revert(shop, order.code, { amount: '10', address: to })
    const { _id } = await eventually(
      () => refundReaches(shop, order.orderId, 'submitted'),
      ({ message }) => /Web3Signer: it answers 503/.test(message ?? ''),
    )
    const row = await db.one(sql`select status, signature, valid_before from chain_payouts where id = ${_id}`)
    assert.deepEqual(row, { status: 'reserved', signature: null, validBefore: null })
    const rejected = await admin.post(`refunds/${_id}/reject`, { reason: 'paid at the till' })
    assert.equal(rejected.status, 200, rejected.text)
    signer.fail(null)
    await shop.chain.mine(4)
    assert.equal(await shop.chain.balanceOf(to), 0n)
  } finally {
    signer.fail(null)
    await shop.stop()
  }
})

test('Web3Signer signs typed data that the standard verifies, and a key it lacks is named', async () => {
  const { address } = privateKeyToAccount(signerRefund)
  const data = {
    domain: { name: 'T', version: '1', chainId: 1, verifyingContract: address },
    types: { Mail: [{ name: 'text', type: 'string' }] },
    primaryType: 'Mail' as const,
    message: { text: 'hello' },
  }
  const signature = await web3signer({ url: signer.url, address }).signTypedData(data)
  assert.equal(await recoverTypedDataAddress({ ...data, signature }), address)
  const stranger = privateKeyToAccount(newKey()).address
  await assert.rejects(web3signer({ url: signer.url, address: stranger }).signTypedData(data), (error: Error) =>
    error.message.includes(`does not have the key of ${stranger}`),
  )
  for (const fault of ['html', 'truncated'] as const) {
    signer.fail(fault)
    await assert.rejects(web3signer({ url: signer.url, address }).signTypedData(data), /Web3Signer/)
  }
  signer.fail('huge')
  await assert.rejects(
    web3signer({ url: signer.url, address }).signTypedData(data),
    /Web3Signer: an answer of more than \d+ bytes/,
  )
  signer.fail(null)
})

const CHAIN = { CHAIN_31337_RPC_URL: 'http://127.0.0.1:1' }
const faultsOf = (env: Record<string, string>): string => readConfig({ ...CHAIN, ...env }).faults.join('\n')

test('settings of signers that contradict each other are named, and no secret is', () => {
  const keystore = writeKeystore(keptRefund)
  const address = privateKeyToAccount(signerRefund).address
  const relayer = { CHAIN_31337_RELAYER_KEY: newKey() }
  const url = 'http://user:hidden@127.0.0.1:9'
  assert.match(faultsOf({ CHAIN_31337_REFUND_KEY: keystore, ...relayer }), /REFUND_PASSWORD: missing/)
  assert.match(faultsOf({ CHAIN_31337_REFUND_PASSWORD: 'hidden' }), /no keystore that it opens/)
  assert.match(faultsOf({ CHAIN_31337_REFUND_ADDRESS: address, ...relayer }), /WEB3SIGNER_URL is missing/)
  assert.match(faultsOf({ CHAIN_31337_WEB3SIGNER_URL: url }), /name whose keys it has/)
  assert.match(faultsOf({ CHAIN_31337_REFUND_KEY: newKey() }), /RELAYER_KEY: missing/)
  const both = { CHAIN_31337_REFUND_KEY: newKey(), CHAIN_31337_REFUND_ADDRESS: address }
  assert.match(faultsOf({ ...both, CHAIN_31337_WEB3SIGNER_URL: url, ...relayer }), /give one of them/)
  assert.match(faultsOf({ CHAIN_31337_REFUND_KEY: '{hidden' }), /REFUND_PASSWORD: missing/)
  assert.doesNotMatch(faultsOf({ CHAIN_31337_REFUND_PASSWORD: 'hidden', CHAIN_31337_WEB3SIGNER_URL: url }), /hidden/)
  assert.equal(faultsOf(relayer), '')
})

type Doctor = { checks: { name: string; ok: boolean; message: string }[] }

async function doctor(env: Record<string, string>): Promise<Doctor> {
  const whole = { ...bareEnv(), DATA_DIR: folder, PORT: '0', ...CHAIN, ...env }
  const ran = promisify(execFile)(process.execPath, [MAIN, 'doctor', '--json'], { env: whole, timeout: 60_000 })
  const { stdout } = await ran.catch((error: { stdout: string }) => error)
  return JSON.parse(stdout) as Doctor
}

test('doctor lets each signer sign a text that moves nothing, and names what is wrong', async () => {
  const address = privateKeyToAccount(signerRefund).address
  const { checks } = await doctor({
    CHAIN_31337_WEB3SIGNER_URL: signer.url,
    CHAIN_31337_REFUND_ADDRESS: address,
    CHAIN_31337_RELAYER_KEY: writeKeystore(keptRelayer),
    CHAIN_31337_RELAYER_PASSWORD: 'not the password',
  })
  const found = checks.filter(({ name }) => name.startsWith('signer'))
  assert.deepEqual(
    found.map(({ name, ok, message }) => [name, ok, message]),
    [
      ['signer 31337 refund', true, `${address} signs, with Web3Signer.`],
      ['signer 31337 relayer', false, 'CHAIN_31337_RELAYER_KEY: the password does not open the keystore'],
    ],
  )
  assert.doesNotMatch(JSON.stringify(checks), /not the password/)
  const account = HDKey.fromMasterSeed(randomBytes(32)).derive("m/44'/60'/0'")
  const { config } = readConfig({
    ...bareEnv(),
    CHAIN_31337_RPC_URL: 'http://127.0.0.1:1',
    CHAIN_31337_XPUB: account.publicExtendedKey,
    CHAIN_31337_REFUND_KEY: `0x${Buffer.from(account.derive('m/0/7').privateKey ?? []).toString('hex')}`,
    CHAIN_31337_RELAYER_KEY: newKey(),
  })
  const [refund, relayer] = await Promise.all(signerChecks(config.chains).map((check) => check.run()))
  assert.match(refund?.message ?? '', /It is address 0\/7 of CHAIN_31337_XPUB: no order gets it/)
  assert.match(relayer?.message ?? '', /in memory\.$/)
})
