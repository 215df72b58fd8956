import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, beforeEach, describe, it } from 'node:test'
import { pino } from 'pino'
import { findHead } from '../src/chain/chain-queries.ts'
import { assignDepositAddress } from '../src/chain/deposits/deposit-addresses.ts'
import { openEndpoints } from '../src/chain/endpoints/endpoints.ts'
import { checkNetwork, NetworkMismatch } from '../src/chain/endpoints/network-check.ts'
import { createRpc, type Rpc } from '../src/chain/endpoints/rpc.ts'
import { confirmationsOf, isFinal } from '../src/chain/finality.ts'
import { type Network, networkFor } from '../src/chain/networks.ts'
import { type Scanner, startScanner } from '../src/chain/scanner.ts'
import type { Transfer } from '../src/chain/transfer.ts'
import { listChangedTransfers, listPlacedTransfers, listTransfersTo } from '../src/chain/transfer-queries.ts'
import { type Db, openDb, sql } from '../src/db/db.ts'
import { newTestXpub, startTestChain, type TestChain } from './harness/chain.ts'
import { createTestDatabase, type TestDatabase } from './harness/database.ts'
import { startProxy } from './harness/proxy.ts'
import { startRpcProxy } from './harness/rpc-proxy.ts'

const XPUB = newTestXpub()
const COMPANY = 'a'.repeat(24)
const FAR = new Date('2100-01-01')
const NOT_ASKED = { network: null, tokenAddress: null, usdc: {} }
const log = pino({ level: 'silent' })

let database: TestDatabase
let db: Db
let chain: TestChain
let rpc: Rpc
let network: Network
let otherToken: string
let scanner: Scanner
let news = 0
const countNews = (): void => {
  news += 1
}

before(async () => {
  database = await createTestDatabase()
  db = openDb({ connectionString: database.connectionString, max: 4 })
  chain = await startTestChain()
  otherToken = await chain.deployOtherToken()
  rpc = createRpc({ url: chain.rpcUrl })
  const base = networkFor({ chainId: chain.chainId, usdcAddress: chain.usdcAddress })
  network = { ...base, otherTokens: [{ symbol: 'USDT', address: otherToken }] }
})

after(async () => {
  await scanner?.stop()
  await rpc?.close()
  await chain?.stop()
  await db?.close()
  await database?.drop()
})

const openScanner = (through: Rpc = rpc, on: Network = network): Scanner =>
  startScanner({ db, network: on, endpoints: openEndpoints(on, [through]), log, pollMs: 0, onChange: countNews })

beforeEach(async () => {
  await scanner?.stop()
  scanner = openScanner()
  await scanner.tick()
})

async function assign(reference = randomBytes(6).toString('hex'), companyId = COMPANY): Promise<string> {
  const assigned = await db.tx((tx) =>
    assignDepositAddress(tx, { companyId, reference, xpub: XPUB, watchedUntil: FAR }),
  )
  return assigned.address
}

async function see(address: string): Promise<Transfer[]> {
  await scanner.tick()
  return listTransfersTo(db, [address])
}

async function confirmations(transfer: Transfer): Promise<number> {
  const head = await findHead(db, chain.chainId)
  assert.ok(head)
  return Number(confirmationsOf(transfer, head))
}

const isFinalNow = async (transfer: Transfer): Promise<boolean> => {
  const head = await findHead(db, chain.chainId)
  assert.ok(head)
  return isFinal(network, { units: transfer.units, transfer, head })
}

const one = (transfers: Transfer[]): Transfer => {
  assert.equal(transfers.length, 1)
  return transfers[0] as Transfer
}

describe('deposit addresses', () => {
  it('gives every order its own address, the same one again for the same reference', async () => {
    const first = await assign('order-1')
    const others = await Promise.all(Array.from({ length: 20 }, (_, index) => assign(`order-${2 + index}`)))
    assert.equal(new Set([first, ...others]).size, 21)
    assert.equal(await assign('order-1'), first)
    const racing = await Promise.all(Array.from({ length: 4 }, () => assign('order-raced')))
    assert.equal(new Set(racing).size, 1)
  })

  it('never gives two companies that use the same xpub one address', async () => {
    const [mine, theirs] = [await assign('same'), await assign('same', 'b'.repeat(24))]
    assert.notEqual(mine, theirs)
  })

  it('uses no index up when the transaction is rolled back', async () => {
    const [before] = await db.many<{ nextIndex: bigint }>(sql`select next_index from deposit_keys`)
    const refused = db.tx(async (tx) => {
      await assignDepositAddress(tx, { companyId: COMPANY, reference: 'no', xpub: XPUB, watchedUntil: FAR })
      throw new Error('rolled back')
    })
    await assert.rejects(refused, /rolled back/)
    const [after] = await db.many<{ nextIndex: bigint }>(sql`select next_index from deposit_keys`)
    assert.deepEqual(after, before)
  })
})

describe('what the scanner sees', () => {
  it('a transfer in the first block, and its confirmations until it is final after three', async () => {
    const address = await assign()
    const txHash = await chain.pay({ to: address, units: 54_000_000n })
    const transfer = one(await see(address))
    const block = await chain.call<{ hash: string; timestamp: string }>('eth_getBlockByNumber', 'latest', false)
    assert.deepEqual(
      { ...transfer, id: '', change: 0n, firstSeenAt: 0 },
      {
        id: '',
        chainId: 31337,
        txHash,
        nth: 0,
        logIndex: 0,
        blockNumber: await chain.blockNumber(),
        blockHash: block.hash,
        blockAt: new Date(Number(block.timestamp) * 1000),
        token: chain.usdcAddress.toLowerCase(),
        symbol: 'USDC',
        fromAddress: chain.payer.toLowerCase(),
        toAddress: address.toLowerCase(),
        units: 54_000_000n,
        status: 'seen',
        firstSeenAt: 0,
        finalAt: null,
        change: 0n,
      },
    )
    for (const [count, final] of [
      [1, false],
      [2, false],
      [3, true],
    ] as const) {
      assert.equal(await confirmations(transfer), count)
      assert.equal(await isFinalNow(transfer), final)
      await chain.mine()
      await scanner.tick()
    }
  })

  it('two transfers in one transaction, to one address and to two', async () => {
    const [left, right] = [await assign(), await assign()]
    await chain.payMany([
      { to: left, units: 1_000_000n },
      { to: right, units: 2_000_000n },
      { to: left, units: 3_000_000n },
    ])
    const sums = async (address: string) => (await see(address)).map(({ nth, units }) => [nth, units])
    assert.deepEqual(await sums(left), [
      [0, 1_000_000n],
      [1, 3_000_000n],
    ])
    assert.deepEqual(await sums(right), [[0, 2_000_000n]])
  })

  it('a token that is known to be confused with USDC, but no unknown token and no transfer of nothing', async () => {
    const address = await assign()
    const unknown = await chain.deployOtherToken()
    await chain.pay({ to: address, units: 5n, token: unknown })
    await chain.pay({ to: address, units: 0n })
    await chain.pay({ to: address, units: 7n, token: otherToken })
    const transfer = one(await see(address))
    assert.deepEqual([transfer.symbol, transfer.units, transfer.token], ['USDT', 7n, otherToken.toLowerCase()])
  })

  it('no native coin', async () => {
    const address = await assign()
    await chain.call('eth_sendTransaction', { from: chain.payer, to: address, value: '0x64' })
    await chain.mine()
    assert.deepEqual(await see(address), [])
    assert.equal(BigInt(await rpc.call<string>('eth_getBalance', address, 'latest')), 100n)
  })

  it('a payment to an address whose time is over only after the watch was prolonged', async () => {
    const address = await assign()
    await db.run(sql`update deposit_addresses set watched_until = 'epoch' where address = ${address.toLowerCase()}`)
    await chain.pay({ to: address, units: 1n })
    assert.deepEqual(await see(address), [])
    await db.run(sql`update deposit_addresses set watched_until = ${FAR} where address = ${address.toLowerCase()}`)
    await chain.pay({ to: address, units: 2n })
    assert.equal(one(await see(address)).units, 2n)
  })

  it('payments among more than 1,000 watched addresses', async () => {
    const address = await assign()
    await db.run(sql`
      insert into deposit_addresses (address, company_id, reference, key_id, key_index, watched_until)
      select '0x' || 'cc' || lpad(to_hex(n), 38, '0'), 'crowd', n::text, (select id from deposit_keys), 1000000 + n, ${FAR}
      from generate_series(1, 1500) as n`)
    await chain.pay({ to: address, units: 11n })
    await chain.pay({ to: `0x${'9'.repeat(40)}`, units: 12n })
    const found = one(await see(address))
    const { count } = await db.one<{ count: bigint }>(sql`select count(*) from chain_transfers where units in (11, 12)`)
    await db.run(sql`delete from deposit_addresses where company_id = 'crowd'`)
    assert.deepEqual([found.units, count], [11n, 1n])
  })
})

describe('reorganisations', () => {
  it('never let a transfer be read beside a head that does not belong to it', async () => {
    const address = await assign()
    const raw = await chain.rawTransaction(await chain.pay({ to: address, units: 1n }))
    await scanner.tick()
    await chain.mine()
    let running = true
    const contradictions: string[] = []
    const watch = async (): Promise<void> => {
      while (running) {
        for (const { transfer, head } of await listPlacedTransfers(db, [address], NOT_ASKED)) {
          const count = confirmationsOf(transfer, head)
          if (transfer.status === 'seen' && (count < 1n || count > 2n)) contradictions.push(`${count}`)
        }
      }
    }
    const watching = watch()
    for (let round = 0; round < 15; round += 1) {
      await scanner.tick()
      await chain.reorg(2)
      await scanner.tick()
      await chain.resend(raw)
      await chain.mine(2)
    }
    running = false
    await watching
    assert.deepEqual(contradictions, [])
    const placed = await listPlacedTransfers(db, [address.toLowerCase()], NOT_ASKED)
    assert.deepEqual(
      placed.map(({ head }) => head),
      [await findHead(db, chain.chainId)],
    )
    assert.deepEqual(
      placed.map(({ transfer }) => transfer),
      await listTransfersTo(db, [address]),
    )
  })

  it('orphan a transfer, and bring it back in its new block when it is mined again', async () => {
    const address = await assign()
    const raw = await chain.rawTransaction(await chain.pay({ to: address, units: 5_000_000n }))
    const first = one(await see(address))
    await chain.mine()
    await chain.reorg(2)
    const gone = one(await see(address))
    assert.deepEqual([gone.status, await confirmations(gone)], ['orphaned', 0])
    await chain.resend(raw)
    await chain.mine()
    const back = one(await see(address))
    assert.equal(back.id, first.id)
    assert.deepEqual([back.status, await confirmations(back)], ['seen', 1])
    assert.equal(back.blockNumber, first.blockNumber + 2n)
    assert.notEqual(back.blockHash, first.blockHash)
  })

  it('keep a double spend orphaned when the money went elsewhere', async () => {
    const [mine, elsewhere] = [await assign(), await assign()]
    await chain.pay({ to: mine, units: 6_000_000n })
    assert.equal(one(await see(mine)).status, 'seen')
    await chain.reorg(1)
    await chain.pay({ to: elsewhere, units: 6_000_000n })
    assert.equal(one(await see(mine)).status, 'orphaned')
    assert.equal(one(await see(elsewhere)).status, 'seen')
  })

  it('take the finality of a transfer back, if they are deeper than expected', async () => {
    const address = await assign()
    await chain.pay({ to: address, units: 1n })
    await chain.mine(4)
    assert.notEqual(one(await see(address)).finalAt, null)
    await chain.reorg(8)
    const gone = one(await see(address))
    assert.deepEqual([gone.status, gone.finalAt], ['orphaned', null])
  })

  it('deeper than what a node called safe, take that word back as well', async () => {
    let safe = await chain.blockNumber()
    const tagged: Rpc = {
      ...rpc,
      batch: (calls) =>
        rpc.batch(
          calls.map(({ method, params }) => ({
            method,
            params: params.map((param) => (param === 'safe' ? `0x${safe.toString(16)}` : param)),
          })),
        ),
    }
    const rule = { kind: 'tag', tag: 'safe', extraBlocks: 0 } as const
    const bySafe: Network = { ...network, small: rule, large: rule }
    const isSafe = async (transfer: Transfer): Promise<boolean> => {
      const head = await findHead(db, chain.chainId)
      assert.ok(head)
      return isFinal(bySafe, { units: transfer.units, transfer, head })
    }
    await scanner.stop()
    scanner = openScanner(tagged, bySafe)
    const [address, other] = [await assign(), await assign()]
    await chain.mine(4)
    await chain.pay({ to: address, units: 1n })
    safe = await chain.blockNumber()
    await chain.mine(2)
    assert.equal(await isSafe(one(await see(address))), true)
    safe -= 4n
    await chain.reorg(6)
    await scanner.tick()
    // as many blocks as before, with another payment where the first one was: no node called these safe
    await chain.rollback(3)
    await chain.pay({ to: other, units: 1n })
    await chain.mine(5)
    assert.equal(one(await see(address)).status, 'orphaned')
    assert.equal(await isSafe(one(await see(other))), false)
    safe = await chain.blockNumber()
    await chain.mine()
    assert.equal(await isSafe(one(await see(other))), true)
  })

  it('are followed with a handful of questions, however deep: a slow node is not asked block by block', async () => {
    let questions = 0
    const counted: Rpc = {
      ...rpc,
      call: (...asked) => {
        questions += 1
        return rpc.call(...asked)
      },
      batch: (calls) => {
        questions += 1
        return rpc.batch(calls)
      },
    }
    await scanner.stop()
    scanner = openScanner(counted)
    const address = await assign()
    await chain.mine(3)
    await chain.pay({ to: address, units: 1n })
    await chain.mine(54)
    assert.equal(one(await see(address)).status, 'seen')
    questions = 0
    await chain.reorg(55)
    assert.equal(one(await see(address)).status, 'orphaned')
    assert.ok(questions <= 11, `${questions} questions about a reorganisation of 55 blocks`)
  })

  it('change nothing while a node is merely behind', async () => {
    const address = await assign()
    await chain.pay({ to: address, units: 1n })
    assert.equal(one(await see(address)).status, 'seen')
    await chain.mine()
    await scanner.tick()
    const snapshot = await findHead(db, chain.chainId)
    await chain.rollback(1)
    assert.equal(await scanner.tick(), false)
    assert.equal((await findHead(db, chain.chainId))?.hash, snapshot?.hash)
    await chain.mine(2)
    assert.equal(one(await see(address)).status, 'seen')
  })
})

describe('the change feed', () => {
  it('tells each new, deeper, orphaned and returned transfer once after the cursor, and nothing when nothing happened', async () => {
    const address = await assign()
    let cursor =
      (await listChangedTransfers(db, { chainId: 31337, afterChange: 0n, limit: 10_000 })).at(-1)?.change ?? 0n
    const changes = async () => {
      await scanner.tick()
      const changed = await listChangedTransfers(db, { chainId: 31337, afterChange: cursor, limit: 100 })
      cursor = changed.at(-1)?.change ?? cursor
      return changed.filter((transfer) => transfer.toAddress === address.toLowerCase()).map(({ status }) => status)
    }
    const raw = await chain.rawTransaction(await chain.pay({ to: address, units: 1n }))
    assert.deepEqual(await changes(), ['seen'])
    assert.deepEqual(await changes(), [])
    await chain.mine()
    assert.deepEqual(await changes(), ['seen'])
    await chain.reorg(2)
    assert.deepEqual(await changes(), ['orphaned'])
    await chain.resend(raw)
    await chain.mine(3)
    assert.deepEqual(await changes(), ['seen'])
    await chain.mine()
    assert.deepEqual(await changes(), [], 'final: further blocks are no news')
  })

  it('calls onChange when a block came, and not otherwise', async () => {
    await scanner.tick()
    news = 0
    await scanner.tick()
    assert.equal(news, 0)
    await chain.mine()
    await scanner.tick()
    assert.equal(news, 1)
  })
})

describe('trouble', () => {
  it('a restart reads what came in between, over hundreds of blocks at once', async () => {
    const address = await assign()
    await scanner.stop()
    await chain.pay({ to: address, units: 1n })
    await chain.mine(300)
    await chain.pay({ to: address, units: 2n })
    await chain.mine(150)
    await chain.pay({ to: address, units: 3n })
    scanner = openScanner()
    assert.deepEqual(
      (await see(address)).map(({ units }) => units),
      [1n, 2n, 3n],
    )
    assert.equal((await findHead(db, chain.chainId))?.number, await chain.blockNumber())
  })

  it('a node that refuses long ranges is asked for shorter ones', async () => {
    const address = await assign()
    await scanner.stop()
    await chain.pay({ to: address, units: 1n })
    await chain.mine(400)
    const proxy = await startRpcProxy(chain.rpcUrl)
    const throughProxy = createRpc({ url: proxy.url })
    proxy.faults.maxSpan = 100n
    const endpoints = openEndpoints(network, [throughProxy])
    scanner = startScanner({ db, network, endpoints, log, pollMs: 0, onChange: countNews })
    try {
      assert.equal(one(await see(address)).units, 1n)
      assert.equal((await findHead(db, chain.chainId))?.number, await chain.blockNumber())
      const asked = proxy.counts.get('eth_getLogs') ?? 0
      assert.ok(asked >= 4 + 5, `${asked} questions: refused ones, and at least four of 100 blocks`)
    } finally {
      await scanner.stop()
      await throughProxy.close()
      await proxy.stop()
    }
  })

  it('an outage of the node in the middle loses nothing', async () => {
    const address = await assign()
    const proxy = await startProxy(chain.rpcUrl)
    const throughProxy = createRpc({ url: proxy.url, timeoutMs: 1000 })
    await scanner.stop()
    scanner = openScanner(throughProxy)
    await scanner.tick()
    await chain.pay({ to: address, units: 1n })
    proxy.cut()
    await assert.rejects(scanner.tick(), { name: 'RpcError', kind: 'unknown' })
    await chain.pay({ to: address, units: 2n })
    proxy.mend()
    assert.deepEqual(
      (await see(address)).map(({ units }) => units),
      [1n, 2n],
    )
    await throughProxy.close()
    await proxy.stop()
  })
})

describe('the check of a network', () => {
  it('accepts the test token, and says what is wrong with another chain or token', async () => {
    await checkNetwork({ rpc }, network)
    const refused = (wrong: Partial<Network>, message: RegExp) =>
      assert.rejects(checkNetwork({ rpc }, { ...network, ...wrong }), (error: Error) => {
        assert.ok(error instanceof NetworkMismatch)
        assert.match(error.message, message)
        return true
      })
    await refused({ chainId: 1 }, /serves chain 31337, not 1/)
    await refused({ usdcAddress: chain.payer }, /no decimals\(\)/)
    const moved = await chain.call<string>('eth_getCode', chain.usdcAddress, 'latest')
    const elsewhere = `0x${'7'.repeat(40)}`
    await chain.call('anvil_setCode', elsewhere, moved)
    await refused({ usdcAddress: elsewhere }, /signing domain/)
  })
})
