import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { packPlugins } from '../../scripts/plugins.ts'
import { signTestWebhook } from '../../sdk/webhooks.ts'
import { sql } from '../../src/db/db.ts'
import { logInSuperAdmin } from './accounts.ts'
import { waitFor } from './receiver.ts'
import { payoutEnv } from './refunds.ts'
import { eventually } from './service.ts'
import { openShop, type Shop } from './shop.ts'

/* A shop module with PHP against a running service; the shop system is imitated, see plugins/README.md. */

export const hasPhp = spawnSync('php', ['--version']).status === 0
if (!hasPhp) console.log('left out, not installed: PHP')

type Hook = { body: string; headers: Record<string, string> }

export type PhpShop = {
  shop: Shop
  /** One command to the imitation. @returns what the shop knows afterwards */
  tell<Known>(command: Record<string, unknown>): Promise<Known>
  /** The newest real webhook of this event at the shop's address, for one order. */
  hookOf(event: string, code: string): Promise<Hook>
  /** The same content as a test event, genuinely signed. */
  asTest(hook: Hook): Promise<Hook>
  /** The customer chooses a wallet. @returns how to pay, also after the order has ended */
  choose(code: string): Promise<(units?: bigint) => Promise<void>>
  payUntilPaid(code: string): Promise<void>
  /** Waits until a part of the price, or late money, is booked. @returns the record that a person decides about */
  partOf(code: string): Promise<string>
  /** A person accepts late money although another order of the purchase is paid. Waits until it has paid. */
  acceptLate(code: string, paid: string): Promise<void>
  /** Waits until money is seen that is not final. */
  confirms(code: string): Promise<void>
  expire(code: string): Promise<void>
  stop(): Promise<void>
}

/** Something in front of the service that answers the first POSTs itself, as after a connection that was cut. */
export async function startInFront(baseUrl: string, statuses: number[]) {
  const left = [...statuses]
  const server = createServer(async (request, response) => {
    const status = request.method === 'POST' ? left.shift() : undefined
    const code = status === 409 ? 'IDEMPOTENCY_IN_PROGRESS' : 'ANOTHER_FAULT'
    const headers = Object.entries(request.headers).filter(([name]) => name.startsWith('x-'))
    const answer = status
      ? Response.json({ error: { code, message: 'Wait a moment.' } }, { status })
      : await fetch(baseUrl + request.url, { headers: headers.map(([name, value]) => [name, String(value)]) })
    response.writeHead(answer.status, { 'content-type': 'application/json' }).end(await answer.text())
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, stop: () => server.close() }
}

/** Something that answers in the service's place with these statuses in turn; 0 cuts the connection. */
export async function startSick(statuses: number[]) {
  let asked = 0
  const server = createServer((request, response) => {
    const status = statuses[asked++ % statuses.length] ?? 0
    if (status === 0) request.socket.destroy()
    else response.writeHead(status).end()
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, stop: () => server.close() }
}

const unpack = (zip: string, target: string): void => {
  const phar = `(new PharData('${zip}'))->extractTo('${target}');`
  const { status, stderr } = spawnSync('php', ['-r', phar])
  assert.equal(status, 0, stderr.toString())
}

const statusOf = async ({ host }: Shop, code: string): Promise<string> =>
  (await host.call<{ status: string }>('GET', `status/${code}`)).data.status

/** Why an order that is over has not ended. */
async function tellWhatItWaitsFor({ host, chain }: Shop, code: string): Promise<string> {
  const facts = await host.db.many<Record<string, unknown>>(sql`
    select o.status, o.expires_at, h.number, h.block_at, h.trouble, h.lease_owner, now(),
      exists (select from deposit_doubts d where d.address = p.deposit_address) as doubted
    from orders o left join payments p on p.company_id = o.company_id and p.id = o.payment_id
      left join chain_heads h on h.chain_id = p.network where o.code = ${code}`)
  const shown = (_: string, value: unknown) => (typeof value === 'bigint' ? String(value) : value)
  return `${JSON.stringify(facts, shown)}; the chain is at block ${await chain.blockNumber()}`
}

/** @param settings what the module is given, from the service's address and the merchant's credentials */
export async function openPhpShop(
  name: 'woocommerce' | 'prestashop',
  module: string,
  settings: (shop: Shop) => Record<string, Record<string, string | undefined>>,
): Promise<PhpShop> {
  const folder = mkdtempSync(join(tmpdir(), `comptoir-${name}-`))
  await packPlugins(folder)
  unpack(join(folder, `comptoir-${name}.zip`), join(folder, 'unpacked'))
  const shop = await openShop({ allEvents: true, env: payoutEnv })
  const given = Object.entries(settings(shop)).map(([variable, value]) => [variable, JSON.stringify(value)])
  const child = spawn('php', [join(import.meta.dirname, `plugins/${name}.php`)], {
    env: {
      ...process.env,
      PLUGIN: join(folder, 'unpacked', module),
      WEBHOOK_URL: `${shop.receiver.url}/${name}`,
      ...Object.fromEntries(given),
    },
  })
  child.stderr.on('data', (chunk: Buffer) => process.stderr.write(chunk))
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const choose: PhpShop['choose'] = async (code) => {
    const { data } = await shop.accept(code, { network: shop.chain.chainId })
    return async (units = 54_000_000n) => {
      await shop.chain.pay({ to: data.toAddress, units })
      await shop.makeFinal()
    }
  }
  const partOf: PhpShop['partOf'] = async (code) => {
    const find = () =>
      shop.host.db.maybe<{ id: string }>(sql`
        select m.id from mispayments m join orders o on o.company_id = m.company_id and o.id = m.order_id
        where o.code = ${code} and m.kind in ('under', 'late') and m.status = 'open'`)
    return (await eventually(find, (found) => found !== undefined))?.id ?? ''
  }
  return {
    ...{ shop, choose, partOf },
    async tell<Known>(command: Record<string, unknown>) {
      child.stdin.write(`${JSON.stringify(command)}\n`)
      const { value } = await lines.next()
      return JSON.parse(value ?? '{}') as Known
    },
    async hookOf(event, code) {
      let found: Hook | undefined
      await waitFor(`${event} at the shop`, () => {
        found = shop.receiver
          .at(`/${name}`)
          .findLast(({ headers, body }) => headers['service-event'] === event && body.includes(code))
        return found !== undefined
      })
      return found ?? { body: '', headers: {} }
    },
    asTest: ({ body }) => signTestWebhook({ ...JSON.parse(body), test: true }, shop.merchant.webhookSecret),
    async payUntilPaid(code) {
      await (await choose(code))()
      await shop.reaches(code, 'PAID')
    },
    async acceptLate(code, paid) {
      const admin = await logInSuperAdmin(shop.host)
      const answer = await admin.post(`mispayments/${await partOf(code)}/accept`, { reason: `beside ${paid}` })
      assert.equal(answer.status, 200, JSON.stringify(answer))
      await shop.reaches(code, 'PAID')
    },
    async confirms(code) {
      const find = () =>
        shop.host.db.maybe<{ status: string }>(sql`
        select p.status from payments p join orders o on o.company_id = p.company_id and o.payment_id = p.id
        where o.code = ${code}`)
      await eventually(find, (found) => found?.status === 'confirming')
    },
    async expire(code) {
      await shop.host.db.run(sql`update orders set expires_at = now() - interval '1 second' where code = ${code}`)
      await shop.chain.mine(1)
      // it ends only once its chain was read up to that block and its address compared: two rounds, each after a pause
      await waitFor(`the end of ${code}`, async () => (await statusOf(shop, code)) === 'EXPIRED', 45_000).catch(
        async (error: Error) => assert.fail(`${error.message}: ${await tellWhatItWaitsFor(shop, code)}`),
      )
    },
    async stop() {
      child.stdin.end()
      await shop.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
