import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { confirmationsNeeded, confirmationsOf, isFinal, isSettled } from './finality.ts'
import { KNOWN_NETWORKS, type Network, networkFor } from './networks.ts'

const SMALL = 999_999_999n
const LARGE = 1_000_000_000n

const known = (chainId: number): Network => networkFor({ chainId })
const at = (blockNumber: bigint) => ({ blockNumber, status: 'seen' as const })
const head = (number: bigint, tags: { safe?: bigint; finalized?: bigint } = {}) => ({
  number,
  safeNumber: tags.safe ?? null,
  finalizedNumber: tags.finalized ?? null,
})

describe('confirmations', () => {
  it('are one in the newest block, none when orphaned or not reached', () => {
    assert.equal(confirmationsOf(at(100n), head(100n)), 1n)
    assert.equal(confirmationsOf(at(100n), head(111n)), 12n)
    assert.equal(confirmationsOf(at(101n), head(100n)), 0n)
    assert.equal(confirmationsOf({ blockNumber: 100n, status: 'orphaned' }, head(111n)), 0n)
  })
})

describe('a transfer is final', () => {
  const firstFinal = (chainId: number, units: bigint, tags: (number: bigint) => Parameters<typeof head>[1]): bigint => {
    for (let number = 100n; number < 300n; number += 1n) {
      if (isFinal(known(chainId), { units, transfer: at(100n), head: head(number, tags(number)) })) return number
    }
    return -1n
  }
  const never = () => ({})

  it('at the block count of its chain when the amount is small, whatever the tags say', () => {
    const counts = [1, 8453, 10, 42161, 43114].map((chainId) => firstFinal(chainId, SMALL, never))
    assert.deepEqual(counts, [105n, 104n, 109n, 139n, 100n])
  })

  it('on Ethereum for a large amount only when finalized: "safe" means different things at different providers', () => {
    assert.equal(
      firstFinal(1, LARGE, (number) => ({ safe: number })),
      -1n,
    )
    assert.equal(
      firstFinal(1, LARGE, (number) => ({ finalized: number - 64n })),
      164n,
    )
  })

  it('on Base, OP and Arbitrum for a large amount when safe', () => {
    for (const chainId of [8453, 10, 42161]) {
      assert.equal(firstFinal(chainId, LARGE, never), -1n)
      assert.equal(
        firstFinal(chainId, LARGE, (number) => ({ safe: number - 30n })),
        130n,
      )
    }
  })

  it('on Polygon when finalized, a large amount ten blocks later', () => {
    const tags = (number: bigint) => ({ finalized: number - 5n })
    assert.equal(firstFinal(137, SMALL, tags), 105n)
    assert.equal(firstFinal(137, LARGE, tags), 115n)
  })

  it('on the sandbox chain after three confirmations, and where the operator says so after his number', () => {
    const usdcAddress = `0x${'1'.repeat(40)}`
    const final = (network: Network, number: bigint) =>
      isFinal(network, { units: LARGE, transfer: at(100n), head: head(number) })
    const sandbox = networkFor({ chainId: 31337, usdcAddress })
    assert.deepEqual([final(sandbox, 101n), final(sandbox, 102n)], [false, true])
    const own = networkFor({ chainId: 1, confirmations: 20 })
    assert.deepEqual([final(own, 118n), final(own, 119n)], [false, true])
  })

  it('by the border between small and large that a merchant sets', () => {
    const state = { units: 50n, transfer: at(100n), head: head(110n) }
    assert.equal(isFinal(known(1), state), true)
    assert.equal(isFinal(known(1), { ...state, largeFromUnits: 50n }), false)
  })

  it('never when it is orphaned, however deep', () => {
    const transfer = { blockNumber: 1n, status: 'orphaned' as const }
    for (const network of KNOWN_NETWORKS.values()) {
      assert.equal(isFinal(network, { units: 1n, transfer, head: head(900n, { safe: 900n, finalized: 900n }) }), false)
    }
  })

  it('settled only when the rule for large amounts agrees too', () => {
    assert.equal(isSettled(known(1), at(100n), head(120n, { finalized: 99n })), false)
    assert.equal(isSettled(known(1), at(100n), head(180n, { finalized: 100n })), true)
  })

  it('and tells how many confirmations a payer waits for, where it is a number', () => {
    assert.equal(confirmationsNeeded(known(1), SMALL), 6)
    assert.equal(confirmationsNeeded(known(1), LARGE), null)
  })
})
