import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, before, test } from 'node:test'
import { ORDER_STATUSES } from '../sdk/index.ts'
import { signTestWebhook } from '../sdk/webhooks.ts'
import { CATALOGUE } from '../src/kernel/errors.ts'
import { ERROR_WORDS } from '../src/pages/docs/error-words.ts'
import { searchPages } from '../src/pages/docs/search.ts'
import { hrefOf, markdownHrefOf, readPages } from '../src/pages/docs/site.ts'
import { sendBadUploads } from './harness/bad-uploads.ts'
import { bareEnv } from './harness/bare-env.ts'
import { putCluster } from './harness/cluster.ts'
import { freePort } from './harness/free-port.ts'
import { waitFor } from './harness/receiver.ts'
import { copySdk } from './harness/sdk-copy.ts'
import { type Served, startServed } from './harness/served.ts'

const ROOT = join(import.meta.dirname, '..')
let folder: string
let served: Served
let baseUrl: string

before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'comptoir-docs-'))
  chmodSync(folder, 0o755)
  putCluster(join(folder, 'data'))
  const port = await freePort()
  baseUrl = `http://localhost:${port}`
  served = startServed({ PORT: String(port) }, { cwd: folder })
  await served.ready()
})
after(async () => {
  await served?.end('SIGTERM')
  rmSync(folder, { recursive: true, force: true })
})

const get = async (path: string) => {
  const answer = await fetch(baseUrl + path)
  return { status: answer.status, headers: answer.headers, text: await answer.text() }
}

test('every document is a page, no link of the site leads nowhere, and nothing comes from another host', async () => {
  const pages = readPages()
  const hrefs = pages.flatMap(({ path }) => [hrefOf(path), markdownHrefOf(path)])
  const paths = new Set([...hrefs, '/docs/api', '/docs/llms.txt', '/openapi.json'])
  for (const file of globSync('**/*.md', { cwd: join(ROOT, 'docs') })) {
    assert.ok(
      pages.some(({ path }) => path === file.replace(/\.md$/, '')),
      file,
    )
  }
  const broken: string[] = []
  for (const page of pages) {
    const { status, headers, text } = await get(hrefOf(page.path))
    assert.deepEqual([status, headers.get('content-type')], [200, 'text/html; charset=utf-8'], page.path)
    assert.ok(!/(?:src|<link[^>]+href)="https?:/.test(text), page.path)
    for (const [, href = ''] of text.matchAll(/ href="(\/[^"#]*)/g)) {
      if (!paths.has(href) && !href.startsWith('/docs/site.')) broken.push(`${page.path} → ${href}`)
    }
  }
  assert.deepEqual(broken, [])
  const policy = (await get('/docs')).headers.get('content-security-policy') ?? ''
  assert.ok(!policy.includes('unsafe') && policy.includes("script-src 'self'"))
  assert.equal((await get('/docs/../package.json')).status, 404)
  assert.equal((await get('/docs/nothing')).status, 404)
})

test('every page is also served as it was written, and a list of all names each once', async () => {
  const list = await get('/docs/llms.txt')
  assert.deepEqual([list.status, list.headers.get('content-type')], [200, 'text/plain; charset=utf-8'])
  assert.match(list.text, /^# Comptoir\n\n> Take payments in crypto, .+\n\n## API\n/)
  assert.match(list.text, /^- \[Webhooks\]\(\/docs\/webhooks\.md\): How to receive and verify webhooks, /m)
  const named = [...list.text.matchAll(/\]\((\/docs\/[^)]+)\)/g)].map(([, href = '']) => href)
  assert.equal(new Set(named).size, named.length)
  const pages = readPages()
  const missing = pages.filter(({ path }) => !/^(index$|errors\/)/.test(path) && !named.includes(markdownHrefOf(path)))
  assert.deepEqual([missing, named.length > 60], [[], true])
  for (const { path, markdown } of pages) {
    const { status, headers, text } = await get(markdownHrefOf(path))
    assert.deepEqual([status, headers.get('content-type'), text], [200, 'text/markdown; charset=utf-8', markdown])
    // a link in it leads to another page as it was written
    for (const [, target = ''] of text.matchAll(/\]\((?![a-z]+:)([^)#]+\.md)/g)) {
      const { pathname } = new URL(target, `${baseUrl}${markdownHrefOf(path)}`)
      const isPage = pages.some((page) => markdownHrefOf(page.path) === pathname)
      assert.ok(isPage || !pathname.startsWith('/docs/'), `${path} → ${target}`)
    }
  }
  assert.equal(
    pages.find(({ path }) => path === 'webhooks')?.markdown,
    readFileSync(join(ROOT, 'docs/webhooks.md'), 'utf8'),
  )
  assert.equal((await get('/docs/nothing.md')).status, 404)
})

test('every error code has its page with cause and cure, and the answer links to it', async () => {
  assert.deepEqual(
    Object.keys(CATALOGUE).filter((code) => !(code in ERROR_WORDS)),
    [],
    'src/pages/docs/error-words.ts',
  )
  const failed = await get('/api/next/confirm_conversion/status/nope')
  const { docs } = JSON.parse(failed.text).error
  assert.equal(docs, `${baseUrl}/docs/errors/ORDER_NOT_FOUND`)
  const page = await get(new URL(docs).pathname)
  assert.ok(page.status === 200 && /<h2 id="cause">[\s\S]+<h2 id="cure">/.test(page.text))
})

test('the search finds a page by its words, on the server', async () => {
  assert.equal(searchPages(readPages(), 'alias_in_use')[0]?.page.path, 'errors/ALIAS_IN_USE')
  const { status, text } = await get('/docs/search?q=payment%20links')
  assert.ok(status === 200 && text.includes('href="/docs/quickstart/payment-link"'))
  assert.ok((await get('/docs/search?q=%3Cscript%3Ealert(1)%3C/script%3E')).text.includes('&#60;script&#62;'))
})

/* ---- the quickstarts, run from their own text ---- */

const blocks = (file: string, language: string, folder = 'docs/quickstart'): string[] =>
  [
    ...readFileSync(join(ROOT, folder, file), 'utf8').matchAll(
      new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'gm'),
    ),
  ].map(([, text = '']) => text)

/** `npx comptoir` means this checkout, and `node` the Node that runs this. */
function path(): string {
  const bin = join(folder, 'bin')
  mkdirSync(bin, { recursive: true })
  const command = `#!/bin/sh\nshift\nexec "${process.execPath}" "${join(ROOT, 'bin/comptoir.cjs')}" "$@"\n`
  writeFileSync(join(bin, 'npx'), command, { mode: 0o755 })
  return `${bin}:${dirname(process.execPath)}:${process.env.PATH}`
}

async function runShell(script: string): Promise<string> {
  const child = spawn('sh', ['-ec', script], { cwd: folder, env: { ...bareEnv(), PATH: path(), HOME: folder } })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => {
      output += chunk.toString()
    })
  const [code] = await once(child, 'close')
  assert.equal(code, 0, output)
  return output
}

test('the quickstart of the till goes from an order to a refund', async () => {
  const output = await runShell(blocks('till.md', 'sh').join('\n'))
  assert.match(output, /Order \w+ is PAID\.[\s\S]+Refund \w+ of 4\.000000 USDC is \w+\.[\s\S]+What to do next:/)
})

test('the quickstart of payment links goes from a link to PAID, and a second link is refused', async () => {
  const output = await runShell(blocks('payment-link.md', 'sh').join('\n'))
  assert.match(output, /http.+\/pay\?code=\w+[\s\S]+ALIAS_IN_USE[\s\S]+refused[\s\S]+is PAID\.[\s\S]+INV-2026-118/)
})

test('the quickstart of donations goes from an anonymous gift to PAID, and a gift too small says why', async () => {
  const output = await runShell(blocks('donations.md', 'sh').join('\n'))
  assert.match(output, /http.+\/pay\?code=\w+[\s\S]+is PAID\.[\s\S]+25\.00 EUR[\s\S]+ILLEGAL_AMOUNT/)
})

test('what customers do wrong is played as the guide says: too little, too much, another way', async () => {
  const output = await runShell(blocks('bad-stories.md', 'sh', 'docs/guides').join('\n'))
  assert.match(output, /is PAID\.[\s\S]+3\.00 USDC came on top of what was due[\s\S]+is PAID\./)
})

/** A folder of a shop that has the SDK, built once. */
let shopFolder: Promise<string> | undefined
function openShopFolder(): Promise<string> {
  shopFolder ??= (async () => {
    const shop = join(folder, 'shop')
    mkdirSync(join(shop, 'node_modules/@comptoir'), { recursive: true })
    mkdirSync(join(folder, 'checkout'))
    const sdk = copySdk(join(folder, 'checkout'))
    const built = spawn(process.execPath, [join(sdk, 'build.mjs')])
    assert.deepEqual(await once(built, 'close'), [0, null])
    symlinkSync(sdk, join(shop, 'node_modules/@comptoir/sdk'))
    for (const name of ['stripe', '@types'])
      symlinkSync(join(ROOT, 'node_modules', name), join(shop, 'node_modules', name))
    symlinkSync(join(folder, 'data'), join(shop, 'data'))
    return shop
  })()
  return shopFolder
}

/** Runs a program of the shop; `hears` gets all it printed so far, whenever there is more. */
async function runProgram(file: string, hears: (output: string) => void = () => {}): Promise<string> {
  const shop = await openShopFolder()
  const { apiKey, apiSecret, webhookSigningSecret } = JSON.parse(
    readFileSync(join(folder, 'data/sandbox.json'), 'utf8'),
  )
  const credentials = { COMPTOIR_URL: baseUrl, COMPTOIR_API_KEY: apiKey, COMPTOIR_API_SECRET: apiSecret }
  const env = { ...bareEnv(), PATH: path(), ...credentials, WEBHOOK_SECRET: webhookSigningSecret }
  const child = spawn(process.execPath, [file], { cwd: shop, env })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => {
      output += chunk.toString()
      hears(output)
    })
  const [code] = await once(child, 'close')
  assert.equal(code, 0, output)
  return output
}

test('the quickstart of a marketplace makes orders of two sellers, and each sees its own only', async () => {
  const shop = await openShopFolder()
  writeFileSync(join(shop, 'marketplace.mjs'), blocks('marketplace.md', 'js').join('\n'))
  const output = await runProgram('marketplace.mjs')
  assert.match(
    output,
    /(order \w+ http\S+\n){2}the platform sees 2 orders, of the bookshop 30\.00\nthe first seller sees 1\n/,
  )
})

/** The order that a page makes of a reference, as any visitor can, at a button of the shop. */
async function clickAsVisitor(orderRef: string): Promise<string> {
  const { buyButtonId } = JSON.parse(readFileSync(join(folder, 'data/sandbox.json'), 'utf8'))
  const code = await openLanding(`id=${buyButtonId}&orderRef=${orderRef}`)
  assert.ok(code, orderRef)
  return code
}
async function openLanding(query: string): Promise<string | undefined> {
  const page = await fetch(`${baseUrl}/buy-button/landing?${query}`, { method: 'POST', headers: { origin: baseUrl } })
  return /conversionCode&quot;:&quot;(\w+)/.exec(await page.text())?.[1]
}

/** Calls as the merchant of this sandbox. */
async function callAsShop(method: string, path: string, body?: object) {
  const { apiKey, apiSecret } = JSON.parse(readFileSync(join(folder, 'data/sandbox.json'), 'utf8'))
  const headers = { 'x-api-key': apiKey, 'x-api-secret': apiSecret, 'content-type': 'application/json' }
  const sent = method === 'GET' ? {} : { body: JSON.stringify(body ?? {}) }
  const answer = await fetch(`${baseUrl}/api/next${path}`, { method, headers, ...sent })
  return { status: answer.status, text: await answer.text() }
}

test('the calls of other services, as their guides write them for Comptoir, make one order until that is over', async () => {
  const shop = await openShopFolder()
  for (const [file, status, metadata] of [
    ['from-coinbase-commerce.md', 'NEW', { basket_id: 'B-1' }],
    ['from-btcpay-server.md', 'New', { itemCode: 'T-1' }],
    ['from-nowpayments.md', 'waiting', null],
  ] as const) {
    writeFileSync(join(shop, 'moved.mjs'), blocks(file, 'js', 'docs/guides').join('\n'))
    const [ordered = ''] = /[A-Z]+-4711/.exec(blocks(file, 'js', 'docs/guides').join('\n')) ?? []
    const strange = await clickAsVisitor(ordered)
    const first = await runProgram('moved.mjs')
    assert.ok(!first.includes(strange), 'a visitor’s order of this reference is not the shop’s')
    assert.match(first, new RegExp(`^${status} http\\S+/pay\\?code=\\w+\n$`), file)
    assert.equal(await runProgram('moved.mjs'), first, file)
    const codeOf = (printed: string) => /code=(\w+)/.exec(printed)?.[1]
    const { text: made } = await callAsShop('GET', `/confirm_conversion/status/${codeOf(first)}`)
    assert.deepEqual([made.includes('ada@'), JSON.parse(made).data.metadata], [false, metadata], file)
    assert.equal((await callAsShop('POST', `/confirm_conversion/cancel/${codeOf(first)}`)).status, 200)
    const next = await runProgram('moved.mjs')
    assert.deepEqual([next.startsWith(`${status} `), codeOf(next) === codeOf(first)], [true, false], file)
    await runShell(`npx comptoir orders pay ${codeOf(next)}`)
    const paid = await runProgram('moved.mjs')
    assert.deepEqual([paid.startsWith(`${status} `), codeOf(paid)], [false, codeOf(next)], file)
    // a number of an order with characters that no header carries
    const text = blocks(file, 'js', 'docs/guides').join('\n')
    writeFileSync(join(shop, 'moved.mjs'), text.replace(/'[A-Z]+-4711'/, JSON.stringify('№ – '.padEnd(100, 'ж'))))
    assert.match(await runProgram('moved.mjs'), new RegExp(`^${status} http`), file)
    // every state that an order may have is mapped to one of theirs
    const mapped = new Set(readFileSync(join(ROOT, 'docs/guides', file), 'utf8').match(/\b[A-Z_]{4,}(?=: ')/g))
    assert.deepEqual([...mapped].sort(), [...ORDER_STATUSES].sort(), file)
  }
})

test('the ten jobs of the SDK run as they stand, and those of stripe-node are what its types allow', async () => {
  const shop = await openShopFolder()
  const [ours, theirs] = [blocks('sdk.md', 'ts', 'docs'), blocks('sdk.md', 'typescript', 'docs')]
  assert.deepEqual([ours.length, theirs.length], [10, 10])
  const receives = `
import { signTestWebhook } from '@comptoir/sdk'
const { body, headers } = await signTestWebhook({ ...paid, event: 'order.paid' }, process.env.WEBHOOK_SECRET!)
console.log((await receive(new Request('http://shop.example', { method: 'POST', body, headers }))).status)
console.log(link.code === invoice.code, status)`
  writeFileSync(join(shop, 'jobs.mts'), [...ours, receives].join('\n'))
  writeFileSync(join(shop, 'theirs.mts'), [...theirs, 'export {}'].join('\n'))
  let paid: Promise<string> | undefined
  const output = await runProgram('jobs.mts', (text) => {
    const code = /redirect to \S+code=(\w+)/.exec(text)?.[1]
    if (code) paid ??= runShell(`npx comptoir orders pay ${code}`)
  })
  await paid
  const code = /code=(\w+)/.exec(output)?.[1]
  assert.match(output, /INV-118[\s\S]+ORDER_STATE_CONFLICT \(request \w+\)[\s\S]+order\.initial[\s\S]+order\.paid/)
  assert.ok(output.includes(`ship ${code}: cart 8841\n204\ntrue `), output)
  const flags = '--strict --noEmit --ignoreConfig --skipLibCheck --target esnext --module nodenext --types node'
  const files = ['jobs.mts', 'theirs.mts'].map((file) => join(shop, file))
  const tsc = spawn(
    process.execPath,
    [join(ROOT, 'node_modules/typescript-compiler/bin/tsc'), ...flags.split(' '), ...files],
    {
      cwd: shop,
    },
  )
  let faults = ''
  tsc.stdout.on('data', (chunk: Buffer) => {
    faults += chunk.toString()
  })
  assert.deepEqual([await once(tsc, 'close'), faults], [[0, null], ''])
})

test('the quickstart of a website ends at a pay page with the price of the server, also on a second run', async () => {
  const { apiKey, apiSecret, buyButtonId } = JSON.parse(readFileSync(join(folder, 'data/sandbox.json'), 'utf8'))
  const env = { COMPTOIR_URL: baseUrl, COMPTOIR_API_KEY: apiKey, COMPTOIR_API_SECRET: apiSecret }
  const [source = ''] = blocks('website.md', 'js')
  writeFileSync(join(folder, 'cart.mjs'), source)
  const run = Object.entries({ ...env, BUTTON_ID: buyButtonId }).map(([name, value]) => `${name}=${value}`)
  const readSession = async (): Promise<string | undefined> => {
    const page = await runShell(`${run.join(' ')} node cart.mjs`)
    assert.ok(page.includes(`${baseUrl}/sdk.js`), page)
    return /data-comptoir-session="(\w+)"/.exec(page)?.[1]
  }
  const session = await readSession()
  assert.ok(session)
  assert.equal(await readSession(), session, 'the same cart is the same session')
  const code = await openLanding(`session=${session}`)
  const order = await get(`/api/next/confirm_conversion/status/${code}`)
  assert.equal(JSON.parse(order.text).data.fromAmount, '49.90')
  assert.equal(await readSession(), session, 'also with its order')
  const change = (revision: number, price: string) =>
    writeFileSync(
      join(folder, 'cart.mjs'),
      source.replace('revision: 1', `revision: ${revision}`).replace("price: '49.90'", `price: '${price}'`),
    )
  // a key of its own, as after two days, when the service has forgotten the first
  change(2, '49.9')
  assert.equal(await readSession(), session, 'at its price it goes on')
  change(3, '59.90')
  const dearer = await readSession()
  const ended = await get(`/api/next/confirm_conversion/status/${code}`)
  assert.equal(JSON.parse(ended.text).data.status, 'CANCELLED', 'nobody pays the old price')
  change(4, '49.90')
  const back = await readSession()
  assert.equal(new Set([session, dearer, back]).size, 3, 'a price that comes back is a session of its own')
  const sold = await openLanding(`session=${back}`)
  await runShell(`npx comptoir orders pay ${sold}`)
  for (const price of ['49.90', '59.90']) {
    change(5, price)
    const page = await runShell(`${run.join(' ')} node cart.mjs`)
    assert.deepEqual([page.includes(`/pay?code=${sold}"`), page.includes('session')], [true, false], 'not sold again')
  }
  const changeTo = (id: string, revision: number, price: string) => {
    change(revision, price)
    writeFileSync(join(folder, 'cart.mjs'), readFileSync(join(folder, 'cart.mjs'), 'utf8').replace('CART-0042', id))
  }
  const readPayment = async () => /\/pay\?code=(\w+)"/.exec(await runShell(`${run.join(' ')} node cart.mjs`))?.[1]
  // what a stranger paid at a cheap button is not the cart's payment; at the cart's price it is
  await runShell(`npx comptoir orders pay ${await clickAsVisitor('CART-0043')}`)
  changeTo('CART-0043', 1, '49.90')
  const own = await openLanding(`session=${await readSession()}`)
  const honest = await clickAsVisitor('CART-0044')
  await runShell(`npx comptoir orders pay ${honest}`)
  changeTo('CART-0044', 1, '12.50')
  assert.equal(await readPayment(), honest)
  // the payer waits for a decision while the cart changes
  const { providersUrl } = JSON.parse(readFileSync(join(folder, 'data/sandbox.json'), 'utf8'))
  await fetch(`${providersUrl}/stories/kyt-sanctioned`, { method: 'POST' })
  await runShell(`npx comptoir orders pay ${own} || true`)
  await waitFor('the review', async () => {
    const { text } = await get(`/api/next/confirm_conversion/status/${own}`)
    return JSON.parse(text).data.status === 'KYT_FAILED'
  })
  await fetch(`${providersUrl}/screening/reset`, { method: 'POST' })
  changeTo('CART-0043', 2, '59.90')
  assert.equal(await readPayment(), own)
})

/** The shop of docs/quickstart/server.md, from its own text. */
async function startShop(port: string, change = (source: string) => source) {
  const shop = await openShopFolder()
  const source = (blocks('server.md', 'js')[0] ?? '').replaceAll('4000', port)
  writeFileSync(join(shop, 'shop.mjs'), change(source))
  const [run = ''] = blocks('server.md', 'sh')
  // the variables come from the page; `exec`, so that the signal below reaches the shop
  const script = run.replace('node shop.mjs', 'exec node shop.mjs')
  const child = spawn('sh', ['-ec', script], { cwd: shop, env: { ...bareEnv(), PATH: path() } })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => {
      output += chunk.toString()
    })
  await waitFor('the pay page', () => /redirect to \S+code=\w+/.test(output))
  const end = async (): Promise<void> => {
    const closed = once(child, 'close')
    child.kill()
    await closed
  }
  return { output: () => output, code: /code=(\w+)/.exec(output)?.[1], end }
}

test('the quickstart of a server ships after a verified webhook, and a second start comes back to the open order, unless the price has changed', async () => {
  const port = String(await freePort())
  const strange = await clickAsVisitor('CART-118')
  await runShell(`npx comptoir orders pay ${strange}`)
  const first = await startShop(port)
  assert.notEqual(first.code, strange, 'what a visitor paid at a button is not the cart’s payment')
  await first.end()
  const again = await startShop(port)
  assert.equal(again.code, first.code)
  await again.end()
  const dearer = await startShop(port, (source) => source.replace("'29.90'", "'39.90'"))
  const [old, now] = await Promise.all(
    [first, dearer].map(({ code }) => get(`/api/next/confirm_conversion/status/${code}`)),
  )
  assert.deepEqual(
    [old, now].map((read) => JSON.parse(read?.text ?? '').data).map(({ status, fromAmount }) => [status, fromAmount]),
    [
      ['CANCELLED', '29.90'],
      ['INITIAL', '39.90'],
    ],
  )
  await sendBadUploads(port)
  const { webhookSigningSecret } = JSON.parse(readFileSync(join(folder, 'data/sandbox.json'), 'utf8'))
  const send = async (made: Parameters<typeof signTestWebhook>[0]) => {
    const sent = await signTestWebhook(made, webhookSigningSecret)
    return fetch(`http://127.0.0.1:${port}/`, { ...sent, method: 'POST' })
  }
  const cheap = { event: 'order.paid', code: first.code, alias: 'CART-118', fromAmount: '29.90', fromAsset: 'EUR' }
  await send(cheap)
  await waitFor('a person', () => dearer.output().includes('look at CART-118'))
  assert.doesNotMatch(dearer.output(), /ship CART-118/)
  await runShell(`npx comptoir orders pay ${dearer.code}`)
  await waitFor('the shipment', () => dearer.output().includes('ship CART-118'))
  const twice = { event: 'order.paid', code: 'SECOND', alias: 'CART-118', fromAmount: '39.90', fromAsset: 'EUR' }
  for (const code of ['SECOND', dearer.code]) await send({ ...twice, code })
  const shipments = dearer.output().match(/^(ship|look at) CART-118$/gm)
  assert.deepEqual(shipments, ['look at CART-118', 'ship CART-118', 'look at CART-118'], 'a cart ships once')
  const taken = await send({ event: 'order.paid', code: 'TEST-ORDER', alias: 'TEST-1001', test: true })
  await dearer.end()
  assert.deepEqual(
    [taken.status, dearer.output().includes('TEST-1001')],
    [204, false],
    'nothing is shipped for a test event',
  )
  // the customer reloads after paying, also once the cart costs something else
  for (const price of ["'39.90'", "'29.90'"]) {
    const reloaded = await startShop(port, (source) => source.replace("'29.90'", price))
    await send({ ...twice, code: dearer.code })
    await reloaded.end()
    assert.deepEqual([reloaded.code, /^ship/m.test(reloaded.output())], [dearer.code, false], price)
  }
})

test('the quickstart of a server leads who has paid a part back to its order, though the price has changed', async () => {
  const port = String(await freePort())
  const ofOther = (source: string) => source.replaceAll('CART-118', 'CART-119').replace("'29.90'", "'12.50'")
  const strange = await clickAsVisitor('CART-119')
  const first = await startShop(port, ofOther)
  assert.notEqual(first.code, strange, 'an open order of a button does not carry the alias')
  await runShell(`npx comptoir orders pay ${first.code} --amount 10`)
  await waitFor('the part', async () => {
    const { text } = await callAsShop('GET', `/mispayments?code=${first.code}&status=open`)
    return JSON.parse(text).data.mispayments.length > 0
  })
  await first.end()
  const dearer = await startShop(port, (source) => ofOther(source).replace("'12.50'", "'39.90'"))
  await dearer.end()
  assert.equal(dearer.code, first.code)
})

test('the scenarios of the sandbox end as its page says, and can be played again', async () => {
  const script = blocks('sandbox.md', 'sh', 'docs').join('\n')
  const ends =
    /^paid\nPAID\ntrue\nPAID\nREFUND_REJECTED: .+\npart\npaid\nAWAITING\nPAID\nAWAITING\nERROR\n.*AWAITING\nPAID\n.*CHANNEL_UNAVAILABLE\nPENDING\nAWAITING\n$/
  for (const run of ['first', 'second']) assert.match(await runShell(script), ends, run)
})
