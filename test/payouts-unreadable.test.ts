import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type Alter, type PayoutNodes, withNodes } from './harness/payout-nodes.ts'
import { type PayoutWorld, request, startPayoutWorld } from './harness/payout-world.ts'

/* Payouts where one of several nodes refuses a question, or answers it so that it cannot be read: the others count. */

let world: PayoutWorld
before(async () => {
  world = await startPayoutWorld()
})
after(() => world?.stop())

const answers =
  (asked: string, answer: (result: unknown) => unknown, isAsked: (params: unknown[]) => boolean = () => true): Alter =>
  ({ method, params }, result) =>
    method === asked && isAsked(params) ? answer(result) : result

const without = (field: string) => (result: unknown) => result && { ...(result as object), [field]: undefined }

const ODD: Record<string, Alter> = {
  'no newest block': answers(
    'eth_getBlockByNumber',
    () => null,
    ([block]) => block === 'latest',
  ),
  'a block without its time': answers('eth_getBlockByNumber', without('timestamp')),
  'a receipt without logs': answers('eth_getTransactionReceipt', without('logs')),
  'a receipt without a status': answers('eth_getTransactionReceipt', without('status')),
  'a count that is no number': answers('eth_getTransactionCount', () => 'many'),
  'a balance that is no number': answers('eth_getBalance', () => null),
}

type Wallet = Awaited<ReturnType<PayoutWorld['openWallet']>>

/** The payout is followed until it is final. */
async function settles({ options }: PayoutNodes, wallet: Wallet, asked = request()): Promise<void> {
  const said: string[] = []
  for (let poll = 0; poll < 8; poll += 1) {
    const { outcome, providerStatus } = await wallet.open(options).send(asked)
    said.push(`${outcome} ${providerStatus}`)
    await world.chain.mine(4)
  }
  assert.equal((await world.rowOf(asked)).status, 'final', said.join('\n'))
  assert.equal(await world.chain.balanceOf(asked.to), asked.units)
}

for (const [what, alter] of Object.entries(ODD))
  for (const index of [0, 2])
    test(`${what} of the ${index === 0 ? 'first' : 'last'} of three nodes stops no payout`, () =>
      withNodes(world, 3, async (nodes) => {
        const odd = nodes.proxies[index]
        if (odd) odd.faults.alter = alter
        await settles(nodes, await world.openWallet(15_000_000n))
      }))

const calls =
  (answer: string): Alter =>
  ({ method }, result) =>
    method === 'eth_call' ? answer : result
const place = (index: number): string => (index === 0 ? 'first' : 'last')

for (const index of [0, 2]) {
  for (const [what, alter] of Object.entries({
    'finds no contract': calls('0x'),
    'answers a call with an odd number of bytes': calls('0x01'),
  }))
    test(`the ${place(index)} of three nodes, which ${what}, stops no payout`, () =>
      withNodes(world, 3, async (nodes) => {
        const odd = nodes.proxies[index]
        if (odd) odd.faults.alter = alter
        await settles(nodes, await world.openWallet(15_000_000n))
      }))

  for (const method of ['eth_call', 'eth_getTransactionReceipt', 'eth_getTransactionCount', 'eth_getBlockByNumber'])
    test(`the ${place(index)} of three nodes, which refuses ${method}, stops no payout`, () =>
      withNodes(world, 3, async (nodes) => {
        const odd = nodes.proxies[index]
        if (odd) odd.faults.refuses = (question) => question.method === method
        await settles(nodes, await world.openWallet(15_000_000n))
      }))
}

test('what ran out unused is forgotten and paid again although the first of three nodes refuses calls', () =>
  withNodes(world, 3, async (nodes) => {
    const wallet = await world.openWallet(15_000_000n)
    const asked = request()
    await wallet.open({ ...nodes.options, validSeconds: 60 }).send(asked)
    await world.chain.call('anvil_dropAllTransactions')
    await world.pass(200)
    const [odd] = nodes.proxies
    if (odd) odd.faults.refuses = (question) => question.method === 'eth_call'
    await settles(nodes, wallet, asked)
  }))

test('after a refusal, one of three nodes that estimates absurdly much gas holds up no payout', () =>
  withNodes(world, 3, async (nodes) => {
    const wallet = await world.openWallet(15_000_000n)
    const asked = request()
    let isPaused = true
    for (const { faults } of nodes.proxies) faults.refuses = ({ method }) => isPaused && method === 'eth_estimateGas'
    await wallet.open(nodes.options).send(asked)
    isPaused = false
    const odd = nodes.proxies[2]
    if (odd) odd.faults.alter = ({ method }, result) => (method === 'eth_estimateGas' ? '0x1000000000000000' : result)
    await settles(nodes, wallet, asked)
  }))

test('the first of three nodes estimates absurdly much gas: the others are asked', () =>
  withNodes(world, 3, async (nodes) => {
    const [odd] = nodes.proxies
    if (odd) odd.faults.alter = ({ method }, result) => (method === 'eth_estimateGas' ? '0x1000000000000000' : result)
    await settles(nodes, await world.openWallet(15_000_000n))
  }))

const HISTORIES: Record<string, unknown> = {
  'is null': null,
  'has a ratio that is null': { gasUsedRatio: [null, 0.5], reward: [] },
  'is a text': 'none',
  'has a reward that is no number': { gasUsedRatio: [0.5], reward: [['none']] },
}
for (const [what, answer] of Object.entries(HISTORIES))
  test(`a node whose eth_feeHistory ${what} pays out, and stays trusted`, () =>
    withNodes(world, 2, async (nodes) => {
      const odd = nodes.proxies[1]
      if (odd) odd.faults.alter = ({ method }, result) => (method === 'eth_feeHistory' ? answer : result)
      const asked = request()
      const wallet = await world.openWallet(15_000_000n)
      await wallet.open(nodes.options).send(asked)
      assert.deepEqual(
        nodes.endpoints.all.map((one) => one.fault()),
        [null, null],
      )
      await settles(nodes, wallet, asked)
    }))
