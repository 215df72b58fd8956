import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { after, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { startAnvil } from '../sandbox/chain/anvil.ts'
import { openRpcClient, type RpcCall } from '../sandbox/chain/rpc.ts'
import { type SandboxChain, startSandboxChain } from '../sandbox/chain/sandbox-chain.ts'
import { balanceOf } from '../sandbox/chain/token.ts'

const folder = mkdtempSync(join(tmpdir(), 'comptoir-chain-'))
after(() => rmSync(folder, { recursive: true, force: true }))

const SHOP = `0x${'5'.repeat(40)}`

async function withChain<Result>(
  stateFile: string,
  work: (chain: SandboxChain, call: RpcCall) => Promise<Result>,
): Promise<Result> {
  const chain = await startSandboxChain({ stateFile })
  try {
    return await work(chain, openRpcClient(chain.rpcUrl))
  } finally {
    await chain.stop()
  }
}

type Log = { blockHash: string; transactionHash: string; data: string }

const logsOf = (call: RpcCall, txHash: string): Promise<Log[]> =>
  call<Log[]>('eth_getLogs', { fromBlock: '0x0', toBlock: 'latest' }).then((logs) =>
    logs.filter((log) => log.transactionHash === txHash),
  )

const answers = (rpcUrl: string): Promise<boolean> =>
  openRpcClient(rpcUrl)('eth_chainId').then(
    () => true,
    () => false,
  )

describe('the sandbox chain', () => {
  it('pays from the test wallet, and many at once, and says in words why a transfer is refused', async () => {
    await withChain(join(folder, 'pay.bin'), async (chain, call) => {
      assert.ok((await balanceOf(call, chain.payerAddress)) === 1_000_000_000_000n)
      const payments = Array.from({ length: 20 }, () => chain.pay({ to: SHOP, amount: '54.000001' }))
      const hashes = (await Promise.all(payments)).map(({ txHash }) => txHash)
      assert.equal(new Set(hashes).size, 20)
      assert.equal(await balanceOf(call, SHOP), 20n * 54_000_001n)
      await assert.rejects(chain.pay({ to: SHOP, amount: '99999999' }), /transfer amount exceeds balance/)
      await assert.rejects(chain.pay({ to: SHOP, amount: '1.2345678' }), /is not an amount/)
      await assert.rejects(chain.pay({ to: 'shop', amount: '1' }), /is not an address/)
    })
  })

  it('goes on after a restart: same token, same balances, old logs by range and by block', async () => {
    const stateFile = join(folder, 'restart.bin')
    const first = await withChain(stateFile, async (chain, call) => {
      const { txHash } = await chain.pay({ to: SHOP, amount: '3' })
      return { txHash, usdcAddress: chain.usdcAddress, number: BigInt(await call<string>('eth_blockNumber')) }
    })
    await withChain(stateFile, async (chain, call) => {
      assert.equal(chain.usdcAddress, first.usdcAddress)
      assert.equal(await balanceOf(call, SHOP), 3_000_000n)
      assert.equal(await balanceOf(call, chain.payerAddress), 1_000_000_000_000n, 'the purse is filled up again')
      assert.ok(BigInt(await call<string>('eth_blockNumber')) >= first.number)
      const [log] = await logsOf(call, first.txHash)
      assert.deepEqual(await call<Log[]>('eth_getLogs', { blockHash: log?.blockHash }), [log])
      const receipt = await call<{ status: string }>('eth_getTransactionReceipt', first.txHash)
      assert.equal(receipt.status, '0x1')
    })
  })

  it('serves the same first block, and goes on from its last one, however often it starts', async () => {
    const stateFile = join(folder, 'first-block.bin')
    type Block = { hash: string; parentHash: string }
    let expected: { first: Block; last: Block } | undefined
    for (let start = 1; start <= 6; start += 1) {
      const anvil = await startAnvil({ stateFile })
      const block = (place: string): Promise<Block> => anvil.call<Block>('eth_getBlockByNumber', place, false)
      if (expected) assert.deepEqual({ first: await block('0x0'), last: await block('latest') }, expected)
      await anvil.call('evm_mine')
      const now = { first: await block('0x0'), last: await block('latest') }
      if (expected) assert.equal(now.last.parentHash, expected.last.hash)
      expected = now
      await anvil.stop()
      await sleep(1000) // anvil dates its own first block to the second: the next start makes a different one
    }
  })

  it('has all blocks that the database knows, also those that a kill took away, unless it is another chain', async () => {
    const stateFile = join(folder, 'known.bin')
    const lines: string[] = []
    const startUpTo = async (known: bigint): Promise<bigint> => {
      const anvil = await startAnvil({ stateFile, known, mining: 'manual', log: (line) => void lines.push(line) })
      const number = BigInt(await anvil.call<string>('eth_blockNumber'))
      await anvil.call('evm_mine')
      await anvil.stop()
      return number
    }
    assert.equal(await startUpTo(40n), 0n, 'a new chain begins at its beginning')
    assert.equal(await startUpTo(40n), 40n)
    assert.equal(await startUpTo(7n), 41n)
    assert.deepEqual(lines, [])
    assert.equal(await startUpTo(1_000_000n), 42n)
    assert.match(lines.join(), /^chain: the database knows block 1000000, 999958 above the saved chain$/)
  })

  it('forgets no payment that it has confirmed when its process is killed, and leaves nothing running', async () => {
    const stateFile = join(folder, 'killed.bin')
    const holder = spawn(process.execPath, [join(import.meta.dirname, 'harness/chain-holder.ts'), stateFile])
    const lines = createInterface({ input: holder.stdout })
    const next = async <Line>(): Promise<Line> => JSON.parse((await once(lines, 'line'))[0] as string) as Line
    const { rpcUrl } = await next<{ rpcUrl: string }>()
    const paid = next<{ txHash: string }>()
    holder.stdin.write(`${SHOP}\n`)
    const { txHash } = await paid
    holder.kill('SIGKILL')
    await once(holder, 'exit')
    for (let tries = 0; tries < 100 && (await answers(rpcUrl)); tries += 1) await sleep(20)
    assert.equal(await answers(rpcUrl), false)
    await withChain(stateFile, async (_, call) => {
      assert.equal((await logsOf(call, txHash)).length, 1)
      assert.equal(await balanceOf(call, SHOP), 1_250_000n)
    })
    assert.deepEqual(
      readdirSync(folder).filter((name) => name.startsWith('killed')),
      ['killed.bin'],
    )
  })

  it('begins anew and keeps the old file when its state is half written', async () => {
    const stateFile = join(folder, 'half.bin')
    await withChain(stateFile, (chain) => chain.pay({ to: SHOP, amount: '1' }))
    const whole = readFileSync(stateFile)
    const half = whole.subarray(0, whole.length / 2)
    writeFileSync(stateFile, half)
    await withChain(stateFile, async (_, call) => assert.equal(await balanceOf(call, SHOP), 0n))
    assert.deepEqual(readFileSync(`${stateFile}.unreadable`), half)
  })

  it('makes blocks without being asked', async () => {
    await withChain(join(folder, 'blocks.bin'), async (_, call) => {
      const before = BigInt(await call<string>('eth_blockNumber'))
      let now = before
      for (let tries = 0; tries < 100 && now < before + 2n; tries += 1) {
        await sleep(100)
        now = BigInt(await call<string>('eth_blockNumber'))
      }
      assert.ok(now >= before + 2n)
    })
  })

  it('says so when its port is taken', async () => {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as { port: number }
    await assert.rejects(startAnvil({ port }), new RegExp(`port ${port}.*EADDRINUSE.*CHAIN_PORT`))
    server.close()
  })
})
