import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bringSumTo, type Part } from '../src/payments/mispayments/one-sum.ts'
import { randomBelow } from './harness/random.ts'

/* Random walks through the arithmetic of one sum, against what came and what was decided about. */

/** Units of one dollar; the arithmetic does not know what a BTC or an ETH is worth. */
const DOLLAR: Readonly<Record<string, bigint>> = { USDC: 10n ** 6n, USDT: 10n ** 18n, BTC: 1000n, ETH: 30n }
type Act = { asset: string; dollars: bigint } | { decide: number }

class Sum {
  parts: Part[] = []
  now = 0

  tell({ asset, units }: { asset: string; units: bigint }): { dollars: bigint; changed: boolean } {
    const at = new Date(++this.now)
    const { close, reopen, insert, more } = bringSumTo(this.parts, { asset, units })
    for (const part of close)
      Object.assign(part, { status: 'resolved', isRenamed: true, renamedTo: asset, updatedAt: at })
    if (reopen) {
      const back = { status: 'open', isRenamed: false, renamedTo: null, updatedAt: at }
      Object.assign(reopen.record, { ...back, units: reopen.units })
    }
    if (insert !== null)
      this.parts.push({
        ...{ asset, units: insert, status: 'open', isRenamed: false, renamedTo: null, createdAt: at, updatedAt: at },
      })
    const changed = close.length > 0 || reopen !== null || insert !== null
    return { dollars: more / (DOLLAR[asset] ?? 1n), changed }
  }

  decide(number: number): void {
    const open = this.parts.filter(({ status }) => status === 'open')
    const part = open[number % Math.max(open.length, 1)]
    if (part) Object.assign(part, { status: 'ignored', updatedAt: new Date(++this.now) })
  }

  dollarsOf(...statuses: string[]): bigint {
    const parts = this.parts.filter(({ status }) => statuses.includes(status))
    return parts.reduce((sum, { asset, units }) => sum + units / (DOLLAR[asset] ?? 1n), 0n)
  }

  text(): string {
    const one = ({ asset, units, status, renamedTo }: Part) =>
      `${units / (DOLLAR[asset] ?? 1n)} ${asset} ${status} ${renamedTo ?? ''}`
    return this.parts.map(one).join('; ')
  }
}

const currencyOf = (asset: string): string => (asset.startsWith('USD') ? 'dollar' : asset)
const showAct = (act: Act): string => ('decide' in act ? `decide ${act.decide}` : `${act.asset} ${act.dollars}`)

/** @returns what is wrong after these acts */
function findFault(acts: readonly Act[]): string | undefined {
  const sum = new Sum()
  const dollarsOnly = acts.every((act) => 'decide' in act || act.asset.startsWith('USD'))
  let most = 0n
  let known = 0n
  for (const act of acts) {
    const decided = sum.parts.filter(({ status }) => status === 'ignored').map((part) => ({ part, was: { ...part } }))
    if ('decide' in act) sum.decide(act.decide)
    else {
      const told = { asset: act.asset, units: act.dollars * (DOLLAR[act.asset] ?? 1n) }
      const isFirst = !sum.parts.some(({ asset }) => currencyOf(asset) === currencyOf(act.asset))
      const { dollars } = sum.tell(told)
      known += dollars
      if (act.dollars > most) most = act.dollars
      const found = sum.dollarsOf('open', 'ignored')
      if (found < act.dollars) return `only ${found} of ${act.dollars}: ${sum.text()}`
      if (dollarsOnly && found > most) return `${found} of ${most}: ${sum.text()}`
      if (dollarsOnly && known !== found) return `news of ${known} for ${found}: ${sum.text()}`
      if (isFirst && sum.dollarsOf('open') !== act.dollars) return `another name waits too: ${sum.text()}`
      if (sum.tell(told).changed) return `a repetition changes something: ${sum.text()}`
    }
    for (const { part, was } of decided) if (!sameDecision(part, was)) return `a decision changed: ${sum.text()}`
  }
  return undefined
}
const sameDecision = (part: Part, was: Part): boolean => part.units === was.units && part.status === was.status

/** Without the acts that the fault does not need. */
function shortest(acts: readonly Act[]): readonly Act[] {
  const less = acts.map((_, index) => acts.toSpliced(index, 1)).find((some) => findFault(some) !== undefined)
  return less ? shortest(less) : acts
}

for (const { coins, shrinks } of [
  { coins: ['USDC', 'USDT'], shrinks: false },
  { coins: ['USDC', 'USDT'], shrinks: true },
  { coins: ['USDC', 'BTC'], shrinks: false },
  { coins: ['USDC', 'USDT', 'BTC', 'ETH'], shrinks: false },
])
  test(`${coins.join(', ')}: what came waits or is decided about, once${shrinks ? ', also if less is told' : ''}`, () => {
    const random = randomBelow(71)
    for (let walk = 0; walk < 20_000; walk += 1) {
      let came = BigInt(1 + random(5))
      const acts = Array.from({ length: 3 + random(10) }, (): Act => {
        if (random(10) < 4) return { decide: random(3) }
        if (random(2) === 0) came += BigInt(1 + random(20))
        const less = shrinks && random(4) === 0 ? BigInt(random(Number(came))) : 0n
        return { asset: coins[random(coins.length)] ?? '', dollars: came - less }
      })
      if (findFault(acts) === undefined) continue
      const few = shortest(acts)
      assert.fail(`${few.map(showAct).join(', ')} => ${findFault(few)}`)
    }
  })
