import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { deploySanctionsOracle } from '../../sandbox/chain/sanctions-oracle.ts'
import { mint } from '../../sandbox/chain/token.ts'
import { type Providers, startProviders } from '../../sandbox/providers/server.ts'
import { sql } from '../../src/db/db.ts'
import { type Client, logInSuperAdmin } from './accounts.ts'
import type { TestChain } from './chain.ts'
import { payoutEnv } from './refunds.ts'
import { eventually } from './service.ts'
import { chainEnv, openShop, type Payable, type Shop } from './shop.ts'

export type ScreeningData = {
  _id: string
  code: string | null
  orderStatus: string | null
  purpose: string
  subjectId: string
  address: string | null
  status: string
  answers: { source: string; verdict: string; level: string | null; reasons: string[] }[]
  evidence?: { source: string; verdict: string; evidence: unknown; at: string }[]
  evidenceLeftOut?: number
  decidedBy: string | null
  reason: string | null
}

/** A shop whose service asks every source: a deny list, the oracle, two services of Chainalysis, TRM. */
export type ScreeningWorld = Shop & {
  admin: Client
  /** What another node of the same service is started with. */
  env: Record<string, string>
  providers: Providers
  denyList: { file: string; write(...lines: string[]): void }
  /** A wallet with money that no test has used. @param ending what the imitations know it by */
  newWallet(ending?: string): Promise<string>
  /** Pays the order's price from a wallet, finally. */
  payFrom(wallet: string, order: Payable, units?: bigint): Promise<void>
  /** What a source says of an address. */
  list(address: string, listing: Record<string, unknown>): Promise<void>
  /** Takes a source away, or gives it back. */
  fault(source: string, fault: string | null): Promise<void>
  screeningsOf(order: { code: string }): Promise<ScreeningData[]>
  /** The screening of an order that has this status, now or soon. */
  screened(order: { code: string }, status: string, purpose?: string): Promise<ScreeningData>
  /** As if the time of its next question had come. */
  askNow(): Promise<void>
  stop(): Promise<void>
}

let nth = 0

async function fundWallet(chain: TestChain, address: string): Promise<void> {
  await chain.call('anvil_impersonateAccount', address)
  await chain.call('anvil_setBalance', address, '0xde0b6b3a7640000')
  await mint(chain.call, address, 1_000_000_000n)
}

export async function openScreeningWorld(env: Record<string, string> = {}): Promise<ScreeningWorld> {
  const folder = mkdtempSync(join(tmpdir(), 'comptoir-screening-'))
  const file = join(folder, 'deny-list.txt')
  writeFileSync(file, '# nobody yet\n')
  let providers: Providers | undefined
  let nodeEnv: Record<string, string> = {}
  const shop = await openShop({
    allEvents: true,
    env: async (chain) => {
      const wallet = { chainId: chain.chainId, usdcAddress: chain.usdcAddress, payerAddress: chain.payer }
      const pay = async () => ({ txHash: '0x' })
      const oracle = await deploySanctionsOracle(chain.rpcUrl)
      providers = await startProviders({
        port: 0,
        chain: { ...wallet, pay },
        oracle,
        callbackBase: 'http://127.0.0.1:9',
      })
      const own = { ...(await payoutEnv(chain)), ...providers.screening, KYT_DENY_LIST_FILE: file, ...env }
      nodeEnv = { ...chainEnv(chain), ...own }
      return own
    },
  })
  assert.ok(providers)
  const { chain, host } = shop
  const { url } = providers
  const admin = await logInSuperAdmin(host)
  const post = async (path: string, body: unknown): Promise<void> => {
    const headers = { 'content-type': 'application/json' }
    const answer = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) })
    assert.equal(answer.status, 200, await answer.text())
  }
  const screeningsOf: ScreeningWorld['screeningsOf'] = async ({ code }) =>
    (await admin.get<{ screenings: ScreeningData[] }>(`screenings?code=${code}&limit=100`)).data.screenings
  const askNow = async (): Promise<void> =>
    void (await host.db.run(sql`
      update screenings set next_check_at = now(), last_asked = null where next_check_at is not null`))
  return {
    ...shop,
    ...{ admin, providers, screeningsOf, askNow, env: nodeEnv },
    denyList: { file, write: (...lines) => writeFileSync(file, `${lines.join('\n')}\n`) },
    async newWallet(ending = '0000') {
      nth += 1
      const address = `0x${(Date.now() * 1000 + nth).toString(16).padStart(36, 'a')}${ending}`
      await fundWallet(chain, address)
      return address
    },
    async payFrom(from, { toAddress: to, units: price }, units = price) {
      await chain.pay({ to, units, from })
      await shop.makeFinal()
    },
    list: (address, listing) => post(`/screening/addresses/${address}`, listing),
    fault: (source, fault) => post(`/screening/faults/${source}`, { fault }),
    async screened(order, status, purpose = 'payment') {
      const all = await eventually(
        () => screeningsOf(order),
        (list) => list.some((one) => one.purpose === purpose && one.status === status),
      )
      const found = all.find((one) => one.purpose === purpose && one.status === status)
      assert.ok(found)
      return found
    },
    async stop() {
      await shop.stop()
      await providers?.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
