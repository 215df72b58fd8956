import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AppError } from '../../kernel/errors.ts'
import { addressRule } from './address-ranges.ts'
import { bareHost, checkWebhookUrl, laneOf, webhookUrlFault } from './webhook-url.ts'

const LIVE = { allowHttp: false, allowedRanges: [] }
const SANDBOX = { allowHttp: true, allowedRanges: ['127.0.0.0/8', '::1/128'] }

/** Spellings of addresses that no webhook may reach. */
const FORBIDDEN_HOSTS = [
  ...[
    '127.0.0.1',
    '127.1',
    '127.0.1',
    '127.255.255.254',
    '2130706433',
    '0x7f000001',
    '0x7f.0.0.1',
    '0x7f.1',
    '017700000001',
  ],
  ...[
    '0177.0.0.1',
    '0177.0.0.01',
    '127.0.0.1.',
    '１２７.0.0.1',
    '127。0。0。1',
    '%31%32%37.0.0.1',
    'localhost',
    'LOCALHOST',
  ],
  ...[
    'localhost.',
    'shop.localhost',
    '0',
    '0.0.0.0',
    '0x0',
    '0.1.2.3',
    '10.0.0.1',
    '10.255.255.255',
    '167772161',
    '012.0.0.1',
  ],
  ...[
    '172.16.0.1',
    '172.31.255.255',
    '192.168.0.1',
    '192.168.1',
    '3232235521',
    '0xC0.0xA8.0.1',
    '100.64.0.1',
    '100.127.255.255',
  ],
  ...[
    '169.254.169.254',
    '2852039166',
    '0xA9FEA9FE',
    '169.254.43518',
    '192.0.0.192',
    '192.0.2.1',
    '198.18.0.1',
    '198.51.100.7',
  ],
  ...['203.0.113.9', '192.88.99.1', '224.0.0.1', '239.255.255.250', '240.0.0.1', '255.255.255.255'],
  ...[
    '[::1]',
    '[::]',
    '[0:0:0:0:0:0:0:1]',
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
    '[::ffff:a9fe:a9fe]',
    '[::127.0.0.1]',
  ],
  ...['[64:ff9b::127.0.0.1]', '[64:ff9b:1::1]', '[2002:7f00:1::1]', '[2001:0:7f00:1::]', '[2001:db8::1]', '[fc00::1]'],
  ...['[fd00:ec2::254]', '[fe80::1]', '[fec0::1]', '[ff02::1]', '[100::1]', '[3fff::1]', '[5f00::1]'],
]

test('more than sixty spellings of private, local, reserved and metadata addresses are refused', () => {
  assert.ok(FORBIDDEN_HOSTS.length >= 60)
  for (const host of FORBIDDEN_HOSTS) {
    assert.notEqual(webhookUrlFault(`https://${host}/hook`, LIVE), null, host)
    assert.notEqual(webhookUrlFault(`https://${host}:8443/hook`, LIVE), null, `${host} with a port`)
  }
})

test('public addresses and names are accepted', () => {
  for (const host of [
    'shop.example',
    'bücher.example',
    '8.8.8.8',
    '[2606:4700::1111]',
    'localhost.shop.example',
    '172.32.0.1',
  ]) {
    assert.equal(webhookUrlFault(`https://${host}/hook?a=1#x`, LIVE), null, host)
  }
})

test('malformed, too long, foreign-scheme, credential and bad-port addresses are 422 at webhookUrl', () => {
  const bad = [
    ...['', 'shop.example/hook', 'ftp://shop.example', 'javascript:alert(1)', 'file:///etc/passwd', 'https://'],
    ...[
      'https://user@shop.example',
      'https://user:pass@shop.example',
      'https://:pass@shop.example',
      'https://@shop.example',
    ],
    ...[
      'https://shop.example:0/',
      'https://shop.example:25/',
      'https://shop.example:6379/',
      'https://shop.example:65536/',
    ],
    ...[
      'https://shop.example/a b',
      'https://shop.example/\r\nX: y',
      'https://shop.example/\u0000',
      'https://shop.example/\u0085',
    ],
    ...[
      'http:///x',
      'https:///x',
      'https://',
      'http://shop.example/',
      `https://shop.example/${'x'.repeat(2048)}`,
      'https://[::1',
      'https://1.2.3.4.5.6:1:2/',
    ],
  ]
  for (const url of bad) {
    assert.throws(
      () => checkWebhookUrl(url, LIVE),
      (error) => error instanceof AppError && error.status === 422 && error.details?.[0]?.path === 'webhookUrl',
      url,
    )
  }
})

test('the configured ranges are open, and nothing beside them', () => {
  assert.equal(webhookUrlFault('http://127.0.0.1:9000/', SANDBOX), null)
  assert.equal(webhookUrlFault('http://localhost:9000/', SANDBOX), null)
  assert.equal(webhookUrlFault('http://[::1]:9000/', SANDBOX), null)
  assert.notEqual(webhookUrlFault('http:///x', SANDBOX), null)
  assert.notEqual(webhookUrlFault('http://10.0.0.1/', SANDBOX), null)
  assert.notEqual(webhookUrlFault('http://[::ffff:10.0.0.1]/', SANDBOX), null)
  assert.equal(addressRule(['10.20.0.0/16'])('::ffff:10.20.1.1'), true)
  assert.throws(() => addressRule(['10.20.0.0']), /not an address range/)
})

test('what is no address is not allowed', () => {
  const isAllowed = addressRule([])
  for (const text of ['', 'shop.example', '300.1.1.1', '::ffff:1.2.3']) assert.equal(isAllowed(text), false, text)
})

test('a lane is scheme, host and port, with the port always written', () => {
  assert.equal(laneOf('https://Shop.Example/hook?x=1'), 'https://shop.example:443')
  assert.equal(laneOf('http://shop.example/'), 'http://shop.example:80')
  assert.equal(laneOf('https://shop.example:8443/a'), 'https://shop.example:8443')
  assert.equal(bareHost('[2606:4700::1111]'), '2606:4700::1111')
})

test('a host name longer than any that exists is refused, also by its length in ASCII', () => {
  const label = 'a'.repeat(63)
  const longest = `${label}.${label}.${label}.${'a'.repeat(61)}`
  assert.equal(webhookUrlFault(`https://${longest}/`, LIVE), null)
  assert.equal(webhookUrlFault(`https://${longest}./`, LIVE), null)
  const letters = Array.from({ length: 990 }, (_, index) => String.fromCodePoint(0x4e00 + index * 7)).join('.')
  for (const host of [`${longest}a`, `${label}a.example`, `${letters}.com`, `${'字'.repeat(60)}.example`])
    assert.match(webhookUrlFault(`https://${host}/w`, LIVE) ?? '', /^The host name is too long/, host)
})

test('the lane of a stored address with such a host fits an index, and is its own', () => {
  const lanes = ['a', 'b'].map((end) => laneOf(`https://${'a.'.repeat(1000)}${end}:8443/w`))
  for (const lane of lanes) assert.match(lane, /^https:\/\/[0-9a-f]{64}:8443$/)
  assert.notEqual(lanes[0], lanes[1])
})

test('behind NAT64 the IPv4 address inside decides, whatever the spelling, and no range opens the private ones', () => {
  const closed = addressRule([])
  for (const address of ['64:ff9b::5db8:d822', '64:ff9b::93.184.216.34', '64:FF9B:0:0:0:0:5db8:d822'])
    assert.equal(closed(address), true, address)
  const inside = ['64:ff9b::a00:1', '64:ff9b::10.0.0.1', '64:ff9b::a9fe:a9fe', '64:ff9b::', '64:ff9b::1']
  const elsewhere = ['64:ff9b:1::5db8:d822', '64:ff9b::1:5db8:d822', '64:ff9a::5db8:d822']
  for (const address of [...inside, ...elsewhere]) assert.equal(closed(address), false, address)
  for (const address of inside) assert.equal(addressRule(['64:ff9b::/96'])(address), false, address)
  assert.equal(addressRule(['10.0.0.0/8'])('64:ff9b::a00:1'), true, 'as 10.0.0.1 itself')
})
