import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { signTestWebhook } from '../sdk/index.ts'
import { openShop, type Shop } from './harness/shop.ts'

/* The one-file clients, run by their interpreters; one that is not installed is said so. */

const SDK = join(import.meta.dirname, '../sdk')
const SECRET = `whsec_${Buffer.alloc(32, 5).toString('base64')}`
let shop: Shop
before(async () => {
  shop = await openShop()
})
after(() => shop?.stop())

const PYTHON = `
import json, os, sys
sys.path.insert(0, "${SDK}/python")
from comptoir import Comptoir, ComptoirError, WebhookVerificationError, verify_webhook
api = Comptoir(os.environ["URL"], os.environ["KEY"], os.environ["API_SECRET"])
made = api.create_order(amount="50.00", fromAsset="EUR", merchantIdentifier="TILL-1", alias="PY/1", idempotency_key="py-1")
code = made["code"]
same = api.create_order(amount="50.00", fromAsset="EUR", merchantIdentifier="TILL-1", alias="PY/1", idempotency_key="py-1")
by_reference = [api.get_order_by_reference("PY/1"), api.get_order_by_reference("PY/1", company_id=os.environ["COMPANY"])]
print("same", same["code"] == code, *[order["code"] == code for order in by_reference], api.get_order(code)["status"])
try:
    api.get_order_by_reference("PY/1", "f" * 24)
except ComptoirError as error:
    print("not in", error.code)
api.call("POST", "/api/next/confirm_conversion/email/" + code, {"email": "a@shop.example", "eMail": "b@shop.example"})
print("pay", api.accept_order(code, paymentChannel="crypto")["toAddress"], code, flush=True)
sys.stdin.readline()
api.confirm_order(code)
refund = api.refund_order(code, amount="4.00", reason="cold")["refundId"]
found = [len(list(api.list_orders(search="PY/1", status=states))) for states in (["REFUNDING", "REFUNDED"], ["PAID", "EXPIRED"])]
print("refund", api.get_refund(refund)["amount"], *found, len(api.list_events()["events"]) > 0)
try:
    api.cancel_order(code)
except ComptoirError as error:
    print("error", error.status, error.code, error.docs.endswith("/docs/errors/" + error.code), bool(error.request_id))
`
const PHP = `<?php
require '${SDK}/php/Comptoir.php';
$bool = fn ($value) => $value ? 'True' : 'False';
$api = new Comptoir(getenv('URL'), getenv('KEY'), getenv('API_SECRET'));
$body = ['amount' => '50.00', 'fromAsset' => 'EUR', 'merchantIdentifier' => 'TILL-1', 'alias' => 'PHP/1'];
$code = $api->createOrder($body, 'php-1')['code'];
$same = $api->createOrder($body, 'php-1');
$byReference = [$api->getOrderByReference('PHP/1'), $api->getOrderByReference('PHP/1', getenv('COMPANY'))];
$found = array_map(fn ($order) => $bool($order['code'] === $code), $byReference);
echo 'same ', $bool($same['code'] === $code), ' ', implode(' ', $found), ' ', $api->getOrder($code)['status'], "\\n";
try {
    $api->getOrderByReference('PHP/1', str_repeat('f', 24));
} catch (ComptoirError $error) {
    echo 'not in ', $error->errorCode, "\\n";
}
$api->call('POST', "/api/next/confirm_conversion/email/$code", ['email' => 'a@shop.example', 'eMail' => 'b@shop.example']);
echo 'pay ', $api->acceptOrder($code, ['paymentChannel' => 'crypto'])['toAddress'], " $code\\n";
fgets(STDIN);
$api->confirmOrder($code);
$refund = $api->refundOrder($code, ['amount' => '4.00', 'reason' => 'cold'])['refundId'];
$count = fn ($states) => count(iterator_to_array($api->listOrders(['search' => 'PHP/1', 'status' => $states]), false));
$found = [$count(['REFUNDING', 'REFUNDED']), $count(['PAID', 'EXPIRED'])];
echo 'refund ', $api->getRefund($refund)['amount'], ' ', implode(' ', $found), ' ', $bool(count($api->listEvents()['events']) > 0), "\\n";
try {
    $api->cancelOrder($code);
} catch (ComptoirError $error) {
    echo 'error ', $error->status, ' ', $error->errorCode, ' ', $bool(str_ends_with($error->docs, '/docs/errors/' . $error->errorCode)), ' ', $bool($error->requestId), "\\n";
}
`
const VERIFY_PYTHON = `
import json, sys
sys.path.insert(0, "${SDK}/python")
from comptoir import WebhookVerificationError, verify_webhook
given = json.load(sys.stdin)
try:
    print(verify_webhook(given["body"].encode(), given["headers"], given["secret"])["event"])
except WebhookVerificationError:
    print("refused")
`
const VERIFY_PHP = `<?php
require '${SDK}/php/Comptoir.php';
$given = json_decode(stream_get_contents(STDIN), true);
try {
    echo Comptoir::verifyWebhook($given['body'], $given['headers'], $given['secret'])['event'], "\\n";
} catch (WebhookVerificationError) {
    echo "refused\\n";
}
`
const CALL_PYTHON = `
import json, sys
sys.path.insert(0, "${SDK}/python")
from comptoir import Comptoir, ComptoirError
given = json.load(sys.stdin)
api = Comptoir(given["url"], "pk_1", "sk_1", timeout=1, max_retries=1)
for method, path, body in given["calls"]:
    try:
        print(json.dumps(api.get_order("c") if path == "getOrder c" else api.call(method, path, body)))
    except ComptoirError as error:
        print(json.dumps(error.code))
`
const CALL_PHP = `<?php
require '${SDK}/php/Comptoir.php';
$given = json_decode(stream_get_contents(STDIN), true);
$api = new Comptoir($given['url'], 'pk_1', 'sk_1', 1, 1);
foreach ($given['calls'] as [$method, $path, $body]) {
    try {
        echo json_encode($path === 'getOrder c' ? $api->getOrder('c') : $api->call($method, $path, $body ?? [])), "\\n";
    } catch (ComptoirError $error) {
        echo json_encode($error->errorCode), "\n";
    }
}
`
const LIST_PYTHON = `
import sys
sys.path.insert(0, "${SDK}/python")
from comptoir import Comptoir
print(",".join(order["code"] for order in list(Comptoir(sys.stdin.read(), "pk_1", "sk_1").list_orders())))
`
const LIST_PHP = `<?php
require '${SDK}/php/Comptoir.php';
$api = new Comptoir(stream_get_contents(STDIN), 'pk_1', 'sk_1');
echo implode(',', array_column(iterator_to_array($api->listOrders()), 'code')), "\n";
`
const EMPTY_PYTHON = `
import sys
sys.path.insert(0, "${SDK}/python")
from comptoir import Comptoir
api = Comptoir(sys.stdin.read(), "pk_1", "sk_1")
for empty in ("", " ", ".", "..", None):
    for call in (api.get_order, api.get_order_by_reference, api.accept_order, api.confirm_order, api.cancel_order, api.refund_order, api.get_refund):
        try:
            call(empty)
            print("sent", call.__name__, empty)
        except ValueError:
            pass
`
const EMPTY_PHP = `<?php
require '${SDK}/php/Comptoir.php';
$api = new Comptoir(stream_get_contents(STDIN), 'pk_1', 'sk_1');
foreach (['', ' ', '.', '..'] as $empty) {
    foreach (['getOrder', 'getOrderByReference', 'acceptOrder', 'confirmOrder', 'cancelOrder', 'refundOrder', 'getRefund'] as $call) {
        try {
            $call === 'acceptOrder' ? $api->$call($empty, []) : $api->$call($empty);
            echo "sent $call $empty\n";
        } catch (InvalidArgumentException) {
        }
    }
}
`
const UNSENDABLE_PYTHON = `
import sys
sys.path.insert(0, "${SDK}/python")
from comptoir import Comptoir
url = sys.stdin.read()
api = Comptoir(url, "pk_1", "sk_1", max_retries=0)
said = []
tries = [lambda key=key: api.create_order(idempotency_key=key) for key in ("1 – 2", "5 €", "é", "a\\nb", "x" * 256)]
for attempt in [*tries, lambda: api.call("GET", "/a b"), *[lambda t=t: Comptoir(url, "pk_1", "sk_1", timeout=t) for t in (0, -1)]]:
    try:
        attempt()
        said.append("sent")
    except ValueError as error:
        said.append("refused" if type(error) is ValueError else "bare")
print(*said, Comptoir(url, "pk_1", "sk_1", timeout=float("inf"), max_retries=0).call("GET", "/slow"))
`
const UNSENDABLE_PHP = `<?php
require '${SDK}/php/Comptoir.php';
$url = stream_get_contents(STDIN);
$api = new Comptoir($url, 'pk_1', 'sk_1', 30, 0);
$tries = array_map(fn ($key) => fn () => $api->createOrder([], $key), ['1 – 2', '5 €', 'é', "a\\nb", "a\\n", str_repeat('x', 256)]);
foreach ([...$tries, ...array_map(fn ($time) => fn () => new Comptoir($url, 'pk_1', 'sk_1', $time), [0, -1])] as $attempt) {
    try {
        $attempt();
        echo 'sent ';
    } catch (InvalidArgumentException) {
        echo 'refused ';
    }
}
echo (new Comptoir($url, 'pk_1', 'sk_1', PHP_INT_MAX, 0))->call('GET', '/slow'), "\\n";
`
const CLIENTS = [
  {
    name: 'Python',
    command: 'python3',
    args: (code: string) => ['-c', code],
    story: PYTHON,
    verify: VERIFY_PYTHON,
    calls: CALL_PYTHON,
    list: LIST_PYTHON,
    unsendable: UNSENDABLE_PYTHON,
    empty: EMPTY_PYTHON,
  },
  {
    name: 'PHP',
    command: 'php',
    args: (code: string) => ['-r', code.replace('<?php', '')],
    story: PHP,
    verify: VERIFY_PHP,
    calls: CALL_PHP,
    list: LIST_PHP,
    unsendable: UNSENDABLE_PHP,
    empty: EMPTY_PHP,
  },
]
const present = CLIENTS.filter(({ command }) => spawnSync(command, ['--version']).status === 0)
const absent = CLIENTS.filter((client) => !present.includes(client))
if (absent.length > 0) console.log(`left out, not installed: ${absent.map(({ name }) => name).join(', ')}`)

type Seen = { key: string | undefined; body: string }
type Reply = (response: ServerResponse, count: number) => void

const answer = (response: ServerResponse, data: unknown, headers = {}) =>
  response.writeHead(200, { 'content-type': 'application/json', ...headers }).end(JSON.stringify({ data }))

/** A server that answers each path as `replies` says, with what it saw there. */
async function openServer(replies: Record<string, Reply>) {
  const seen: Record<string, Seen[]> = {}
  const server = createServer(async (request: IncomingMessage, response) => {
    const body = Buffer.concat(await request.toArray()).toString()
    const one = { key: request.headers['idempotency-key']?.toString(), body }
    const path = request.url ?? ''
    const all = [...(seen[path] ?? []), one]
    seen[path] = all
    replies[path]?.(response, all.length)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const close = (): void => {
    server.closeAllConnections()
    server.close()
  }
  return { url, seen, close }
}

/** What a client makes of the calls: the data, or the code of the error. */
async function callAll(
  [command, ...args]: [string, ...string[]],
  given: { url: string; calls: [method: string, path: string, body?: unknown][] },
): Promise<unknown[]> {
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] })
  child.stdin.end(
    JSON.stringify({ ...given, calls: given.calls.map(([method, path, body = null]) => [method, path, body]) }),
  )
  const output = Buffer.concat(await child.stdout.toArray()).toString()
  return output
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
}

const half = (response: ServerResponse, headers = {}) =>
  response.writeHead(200, { 'content-type': 'application/json', ...headers }).write('{"success":true,"da')

/** What a setting that was forgotten or cut may hold: anyone could sign with it. */
const NO_SECRETS = ['', 'whsec_', 'whsec_YWJj', 'whsec_****************************', `${SECRET}\n`]

/** Signed as an attacker would who guesses that the receiver has no proper secret. */
function forgedBy(secret: string, body: string): Record<string, string> {
  const at = String(Math.floor(Date.now() / 1000))
  const hmac = (key: string | Buffer, text: string) => createHmac('sha256', key).update(text)
  const bytes = Buffer.from(secret.replace('whsec_', ''), 'base64')
  return {
    'service-signature': `t=${at},v1=${hmac(secret, `${at}.${body}`).digest('hex')}`,
    ...{ 'webhook-id': 'a', 'webhook-timestamp': at },
    'webhook-signature': `v1,${hmac(bytes, `a.${at}.${body}`).digest('base64')}`,
  }
}

const DEADLINE_PHP = `
require '${SDK}/php/Comptoir.php';
$api = new Comptoir(stream_get_contents(STDIN), 'pk_1', 'sk_1', 2, 5, 3.0);
$from = microtime(true);
foreach (['/silent', '/drip', '/silent'] as $path) {
    try {
        $api->call('POST', $path);
    } catch (ComptoirError $error) {
        echo $error->errorCode, ' ';
    }
}
echo microtime(true) - $from < 4 ? 'in time' : 'late';
`

/** PHP without curl, as on some hosts: `-n` loads no extension that is not built in. */
for (const options of [[], ['-n']]) {
  test(`the PHP client ${options.length > 0 ? 'without curl ' : ''}gives up at its deadline, however many calls`, {
    skip: present.every(({ name }) => name !== 'PHP'),
  }, async () => {
    const drip = (response: ServerResponse) => {
      const socket = response.socket
      const timer = setInterval(() => socket?.write('H'), 100)
      socket?.on('close', () => clearInterval(timer))
    }
    // PHP's own streams wait for each byte anew, so only curl is asked to end a drip
    const server = await openServer({ '/silent': () => {}, '/drip': options.length > 0 ? () => {} : drip })
    const child = spawn('php', [...options, '-r', DEADLINE_PHP], { stdio: ['pipe', 'pipe', 'inherit'] })
    child.stdin.end(server.url)
    const output = Buffer.concat(await child.stdout.toArray()).toString()
    server.close()
    assert.equal(output, `${'CONNECTION_FAILED '.repeat(3)}in time`)
  })
}

for (const { name, command, args, story, verify, calls, unsendable } of present) {
  test(`the ${name} client tries a lost or cut answer again under one key, and names what is not Comptoir’s`, async () => {
    const good = (response: ServerResponse): void => void answer(response, 'good')
    const server = await openServer({
      '/cut': (response, count) =>
        count > 1
          ? good(response)
          : half(response, { 'content-length': '500' }) && setTimeout(() => response.destroy(), 20),
      '/chunk': (response, count) =>
        count > 1 ? good(response) : half(response) && setTimeout(() => response.destroy(), 20),
      '/stall': (response, count) => (count > 1 ? good(response) : half(response, { 'content-length': '500' })),
      '/garbage': (response, count) => (count > 1 ? good(response) : response.socket?.end('GARBAGE\r\n\r\n')),
      '/page': (response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<html>'),
      '/other': (response) => response.writeHead(200, { 'content-type': 'application/json' }).end('["other"]'),
    })
    const results = await callAll([command, ...args(calls)], {
      url: server.url,
      calls: [
        ['POST', '/cut', {}],
        ['GET', '/chunk'],
        ['GET', '/stall'],
        ['GET', '/garbage'],
        ['GET', '/page'],
        ['GET', '/other'],
      ],
    })
    server.close()
    assert.deepEqual(results, ['good', 'good', 'good', 'good', 'UNEXPECTED_ANSWER', 'UNEXPECTED_ANSWER'])
    const keys = server.seen['/cut']?.map(({ key }) => key) ?? []
    assert.deepEqual([keys.length, new Set(keys).size], [2, 1])
    assert.equal(server.seen['/page']?.length, 1, 'a page is not asked for again')
  })

  test(`the ${name} client gives a download as it is, and a page of another program to nobody`, async () => {
    const plain = { 'content-type': 'text/csv; charset=utf-8; header=present' }
    const server = await openServer({
      '/csv': (response) => response.writeHead(200, plain).end('code\nÉ1\n'),
      '/cut': (response, count) =>
        count > 1
          ? response.writeHead(200, plain).end('whole')
          : response.writeHead(200, plain).write('ha') && setTimeout(() => response.destroy(), 20),
      '/page': (response) => response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end('<html>'),
      '/refused': (response) => response.writeHead(404, { 'content-type': 'text/plain' }).end('not here'),
      '/api/next/confirm_conversion/status/c': (response) =>
        response.writeHead(200, { 'content-type': 'text/plain' }).end('OK'),
    })
    const paths = ['/csv', '/cut', '/page', '/refused', 'getOrder c']
    const results = await callAll([command, ...args(calls)], {
      url: server.url,
      calls: paths.map((path) => ['GET', path]),
    })
    server.close()
    assert.deepEqual(results, ['code\nÉ1\n', 'whole', ...Array(3).fill('UNEXPECTED_ANSWER')])
  })

  test(`the ${name} client refuses at once what cannot be sent, and bears a timeout longer than any timer`, async () => {
    const server = await openServer({ '/slow': (response) => void setTimeout(() => answer(response, 'good'), 200) })
    const child = spawn(command, args(unsendable), { stdio: ['pipe', 'pipe', 'inherit'] })
    child.stdin.end(server.url)
    const output = Buffer.concat(await child.stdout.toArray()).toString()
    server.close()
    assert.equal(output.trim(), `${'refused '.repeat(8)}good`)
    assert.deepEqual(Object.keys(server.seen), ['/slow'])
  })

  test(`the ${name} client sends the body of a PUT, and gives its secret to no other host`, async () => {
    const other = await openServer({ '/elsewhere': (response) => answer(response, 'taken') })
    const server = await openServer({
      '/link': (response) => answer(response, 'put'),
      '/moved': (response) => response.writeHead(302, { location: `${other.url}/elsewhere` }).end(),
    })
    const results = await callAll([command, ...args(calls)], {
      url: server.url,
      calls: [
        ['PUT', '/link', { active: false }],
        ['GET', '/moved'],
      ],
    })
    server.close()
    other.close()
    assert.deepEqual(JSON.parse(server.seen['/link']?.[0]?.body || 'null'), { active: false })
    assert.deepEqual(other.seen, {}, 'a redirect is not followed')
    assert.deepEqual(results, ['put', 'UNEXPECTED_ANSWER'])
  })

  test(`the ${name} client goes from an order to a refund, filters its lists, and names failures and typos`, async () => {
    const { 'x-api-key': KEY = '', 'x-api-secret': API_SECRET = '' } = shop.merchant.headers
    const env = { ...process.env, URL: shop.host.baseUrl, KEY, API_SECRET, COMPANY: shop.merchant.companyId }
    const child = spawn(command, args(story), { env, stdio: ['pipe', 'pipe', 'pipe'] })
    let output = ''
    let warned = ''
    let paid = false
    child.stderr.on('data', (chunk: Buffer) => {
      warned += chunk.toString()
    })
    child.stdout.on('data', async (chunk: Buffer) => {
      output += chunk.toString()
      const [, to, code] = /^pay (0x\w+) (\w+)\n/m.exec(output) ?? []
      if (to === undefined || code === undefined || paid) return
      paid = true
      await shop.chain.pay({ to, units: 54_000_000n })
      await shop.makeFinal()
      await shop.reaches(code, 'PAID')
      child.stdin.end('\n')
    })
    const timer = setTimeout(() => child.kill(), 60_000)
    await once(child, 'close')
    clearTimeout(timer)
    const expected =
      /^same True True True INITIAL\nnot in ORDER_NOT_FOUND\npay 0x\w+ \w+\nrefund 4\.000000 1 0 True\nerror 409 ORDER_STATE_CONFLICT True True\n$/
    assert.match(output, expected, warned)
    assert.match(warned, /Comptoir ignored eMail: POST .*\/email\/\w+ knows no such name\./)
  })

  test(`the ${name} client believes a genuine webhook of either scheme, and no forged, old or unsigned one`, async () => {
    const run = (body: string, headers: Record<string, string>, secret = SECRET): string =>
      spawnSync(command, args(verify), { input: JSON.stringify({ body, headers, secret }) })
        .stdout.toString()
        .trim()
    const { body, headers } = await signTestWebhook({ event: 'order.paid', goods: 'Café ☕' }, SECRET)
    const only = (prefix: string) =>
      Object.fromEntries(Object.entries(headers).filter(([key]) => key.startsWith(prefix)))
    assert.deepEqual(
      [run(body, headers), run(body, only('service-')), run(body, only('webhook-'))],
      ['order.paid', 'order.paid', 'order.paid'],
    )
    const made = await signTestWebhook({ event: 'order.paid', test: true }, SECRET)
    assert.equal(run(made.body, made.headers), 'test', 'a test event is none that a shop acts on')
    const old = await signTestWebhook({ event: 'order.paid' }, SECRET, { atSeconds: 1_700_000_000 })
    const other = await signTestWebhook({ event: 'order.paid' }, SECRET.replace('F', 'G'))
    const forged = body.replace('paid', 'paix')
    const refused = [
      ...[run(forged, headers), run(forged, only('service-')), run(forged, only('webhook-')), run(body, {})],
      ...[run(old.body, old.headers), run(other.body, other.headers)],
    ]
    assert.deepEqual(refused, Array(6).fill('refused'))
    for (const secret of NO_SECRETS) assert.equal(run(body, forgedBy(secret, body), secret), 'refused', secret)
  })
}

for (const { name, command, args, list } of present) {
  test(`${name}: a whole list in memory holds the orders of all pages`, async () => {
    const path = '/api/next/confirm_conversion?limit=100'
    const page = (codes: string[], nextCursor: string | null): Reply => {
      const orders = codes.map((code) => ({ code }))
      return (response) => void answer(response, { orders, nextCursor })
    }
    const { url, close } = await openServer({
      [path]: page(['A', 'B'], '2'),
      [`${path}&cursor=2`]: page(['C', 'D'], '4'),
      [`${path}&cursor=4`]: page(['E'], null),
    })
    const child = spawn(command, args(list), { stdio: ['pipe', 'pipe', 'inherit'] })
    child.stdin.end(url)
    const output = Buffer.concat(await child.stdout.toArray()).toString()
    close()
    assert.equal(output.trim(), 'A,B,C,D,E')
  })
}

for (const { name, command, args, empty } of present) {
  test(`${name}: a call without its code or id is refused before it is sent, as it would mean the whole list`, async () => {
    const { url, seen, close } = await openServer({})
    const child = spawn(command, args(empty), { stdio: ['pipe', 'pipe', 'inherit'] })
    const closed = once(child, 'close')
    child.stdin.end(url)
    const output = Buffer.concat(await child.stdout.toArray()).toString()
    const [status] = await closed
    close()
    assert.deepEqual([output, seen, status], ['', {}, 0])
  })
}
