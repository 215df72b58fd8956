import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { fastify } from 'fastify'
import { findUnknownVariables } from './all-settings.ts'
import { ConfigError, loadConfig } from './config.ts'

const faultsOf = (env: Record<string, string>): string[] => {
  try {
    loadConfig(env)
    return []
  } catch (error) {
    assert.ok(error instanceof ConfigError)
    return error.faults
  }
}

test('an empty environment is the sandbox with its defaults; addresses follow from the port', () => {
  const config = loadConfig({ PORT: '4000' })
  assert.deepEqual(
    [config.mode, config.host, config.baseUrl, config.payUrl, config.officeUrl, config.autoApprove],
    ['sandbox', '127.0.0.1', 'http://localhost:4000', 'http://localhost:4000', 'http://localhost:4000/app', true],
  )
  assert.deepEqual(config.rates.sources, ['fixed'])
  assert.deepEqual(config.chains, [])
})

test('the service stands at a host name of its own, written in any way', () => {
  assert.equal(loadConfig({ BASE_URL: 'https://PAY.Example:443/' }).baseUrl, 'https://pay.example')
  for (const rest of ['/pay', '/?shop=1', '/#a']) {
    const said = 'must be a host name of its own with nothing behind it, for example https://pay.example'
    assert.deepEqual(faultsOf({ BASE_URL: `https://pay.example${rest}` }), [`BASE_URL: ${said}`])
  }
  assert.deepEqual(faultsOf({ BASE_URL: 'https://me:secret@pay.example' }).length, 1)
})

test('mails come from the service’s own domain where nothing else is said', () => {
  assert.equal(loadConfig({ BASE_URL: 'https://pay.example' }).mail.from, 'Comptoir <no-reply@pay.example>')
  for (const BASE_URL of ['http://localhost:1', 'http://127.0.0.1:3000', 'http://[::1]:3000'])
    assert.equal(loadConfig({ BASE_URL }).mail.from, 'Comptoir <no-reply@comptoir.invalid>')
  assert.match(faultsOf({ BASE_URL: 'pay.example' }).join(), /^BASE_URL: must be a URL/)
  assert.equal(loadConfig({ MAIL_FROM: 'Shop <shop@shop.example>' }).mail.from, 'Shop <shop@shop.example>')
})

test('a proxy is an address or a range, and never everyone', () => {
  const good = ['127.0.0.1', ' 127.0.0.1 , ::1', '10.0.0.0/8', '10.0.0.0/255.0.0.0', 'fd00::/8', 'loopback,10.77.0.2']
  const wide = ['uniquelocal', 'fc00::/7', 'fe80::%eth0/10', '::ffff:10.0.0.1', '::ffff:10.0.0.0/104', '10.0.0.0/08']
  for (const given of [...good, ...wide]) {
    assert.deepEqual(faultsOf({ TRUST_PROXY: given }), [], given)
    // Fastify reads them the same way
    fastify({ trustProxy: loadConfig({ TRUST_PROXY: given }).trustProxy })
  }
  const holes = ['10.0.0.0/255.0.255.0', '10.0.0.0/0.255.255.255', 'fd00::/255.0.0.0']
  for (const given of ['nginx', 'true', '*', '300.1.1.1', '10.0.0.0/33', '10.0.0.0/', '10.0.0.0/8/8', '1', ...holes])
    assert.match(faultsOf({ TRUST_PROXY: given }).join(), /^TRUST_PROXY: ".+" is no address or range\. Give/, given)
  const halves = ['0.0.0.0/1,128.0.0.0/1', '128.0.0.0/128.0.0.0', '::/1', '2000::/3']
  const mapped = ['::ffff:0:0/96', '::ffff:0.0.0.0/97', '0:0:0:0:0:ffff:0:0/96']
  for (const given of ['0.0.0.0/0', '::/0', '127.0.0.1,0.0.0.0/0.0.0.0', ...halves, ...mapped])
    assert.match(faultsOf({ TRUST_PROXY: given }).join(), /^TRUST_PROXY: ".+" trusts everyone/, given)
})

test('every fault is named at once, one line each, each once, and none holds a secret', () => {
  const password = 'hunter2-hunter2'
  const faults = faultsOf({
    MODE: 'live',
    PORT: 'many',
    DATABASE_URL: `mysql://root:${password}@db/x`,
    MASTER_KEY: Buffer.from(password).toString('base64'),
    CHAIN_8453_RPC_URL: 'https://rpc.example',
    CHAIN_8453_REFUND_KEY: `0x${password}`,
    RATE_SOURCES: 'fixed',
    SUPER_ADMIN_PASSWORD: password,
  })
  const names = faults.map((fault) => fault.split(':')[0])
  for (const name of ['PORT', 'DATABASE_URL', 'MASTER_KEY', 'CHAIN_8453_REFUND_KEY', 'RATE_SOURCES', 'BASE_URL'])
    assert.ok(names.includes(name), `${name} in ${names.join()}`)
  assert.equal(new Set(faults).size, faults.length)
  assert.ok(!faults.join('\n').includes(password), faults.join('\n'))
})

test('fewer price sources than must agree, or one named twice, stop the start', () => {
  const wanted = { RATE_MIN_SOURCES: '2' }
  for (const sources of ['kraken', 'kraken,kraken'])
    assert.match(faultsOf({ ...wanted, RATE_SOURCES: sources }).join(), /^RATE_SOURCES: names 1, and RATE_MIN_SOURCES/)
  assert.deepEqual(loadConfig({ ...wanted, RATE_SOURCES: 'kraken,ecb,kraken' }).rates.sources, ['kraken', 'ecb'])
})

test('a malformed webhook range is reported with the name of its setting', () => {
  for (const range of ['foo', '10.0.0.0', '10.0.0.0/33', '10.0.0.0/8/8', '::1/129', '10.0.0.0/'])
    assert.match(
      faultsOf({ WEBHOOK_ALLOWED_RANGES: `10.0.0.0/8,${range}` }).join(),
      /^WEBHOOK_ALLOWED_RANGES: "/,
      range,
    )
  assert.deepEqual(faultsOf({ WEBHOOK_ALLOWED_RANGES: '10.0.0.0/8,fd00::/8,0.0.0.0/0' }), [])
})

test('a private key as xpub is refused in every mode and not printed', () => {
  const key = randomBytes(32).toString('hex')
  for (const xpub of [
    'xprv9s21ZrQH143K3QTDL4LXw2F7HEK3wJUD2nW2nRk4stbPy6cq3jPPqjiChkVvvNKmPGJxWUtg6LnF5kejMRNNU3TGtRBeJgk33yuGBxrMPHi',
    key,
  ]) {
    const [fault = ''] = faultsOf({ CHAIN_8453_RPC_URL: 'https://rpc.example', CHAIN_8453_XPUB: xpub })
    assert.match(fault, /^CHAIN_8453_XPUB: This is a PRIVATE key/)
    assert.ok(!fault.includes(xpub))
  }
})

test('secrets are read from files, also those with a name of their own', () => {
  const folder = mkdtempSync(join(tmpdir(), 'comptoir-config-'))
  try {
    writeFileSync(join(folder, 'token'), 'a-long-token\n')
    assert.equal(loadConfig({ METRICS_TOKEN_FILE: join(folder, 'token') }).metricsToken, 'a-long-token')
    assert.deepEqual(faultsOf({ SMTP_URL_FILE: join(folder, 'none') }), [
      `SMTP_URL_FILE: cannot read the file ${join(folder, 'none')}`,
    ])
  } finally {
    rmSync(folder, { recursive: true })
  }
})

test('variables with our prefixes that nothing reads are named, with what was probably meant', () => {
  const channels = ['CHANNEL_GATEPAY_SECRET', 'CHANNEL_GATEPAY_CLIENT_ID']
  const unknown = (env: Record<string, string>): string[] => findUnknownVariables(env, channels)
  assert.deepEqual(
    unknown({ CHANNEL_GATEPAY_SECRT: 'x', LIMIT_COMPANY: '5', DATABASE_URI: 'x', CHAIN_8453_XPUBB: 'x' }),
    [
      'CHAIN_8453_XPUBB: no such variable; did you mean CHAIN_8453_XPUB?',
      'CHANNEL_GATEPAY_SECRT: no such variable; did you mean CHANNEL_GATEPAY_SECRET?',
      'DATABASE_URI: no such variable; did you mean DATABASE_URL?',
      'LIMIT_COMPANY: no such variable',
    ],
  )
  assert.deepEqual(
    unknown({
      ...{ PATH: '/bin', HOME: '/', npm_config_x: '1', TEST_DATABASE_URL: 'x', NODE_ENV: 'test' },
      ...{ CHANNEL_GATEPAY_SECRET_FILE: 'x', CHAIN_1_RPC_URL: 'x', RATE_ECB_BASE_URL: 'x', MASTER_KEY_FILE: 'x' },
      ...{ RATE_SERVICE_HOST: '10.0.0.1', RATE_PORT_80_TCP: 'tcp://10.0.0.1:80', COMPTOIR_URL: 'x' },
    }),
    [],
  )
})

test('without prepared statements migrations need the address of the database itself', () => {
  const pooled = { DATABASE_URL: 'postgres://comptoir@pooler:6432/comptoir', DATABASE_PREPARED: 'false' }
  assert.throws(() => loadConfig(pooled), /DATABASE_DIRECT_URL: missing\. With DATABASE_PREPARED=false migrations need/)
  loadConfig({ ...pooled, DATABASE_DIRECT_URL: 'postgres://comptoir@database:5432/comptoir' })
})
