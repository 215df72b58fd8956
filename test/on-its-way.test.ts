import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  afterReport,
  goneAfter,
  goneAfterReturn,
  onItsWay,
  toldByEstimate,
  toldOf,
  type Unexplained,
  type Way,
} from '../src/payments/mispayments/on-its-way.ts'
import { randomBelow } from './harness/random.ts'

/* Random walks through what is on its way, against what came and what was frozen of it or returned. */

type Act = {
  kind: 'arrive' | 'freeze' | 'return' | 'decide' | 'leave' | 'end' | 'older' | 'tell' | 'guess'
  part: number
}

const PRICE = 54n
const TOLERANCE = 2n

/** A payment's money at its provider, and what is stored of it. */
class Money {
  way: Way = { notedUnits: 0n, isExact: false, frozenUnits: 0n, goneUnits: null }
  /** The provider told an amount, or a person returned a block before it did: 0 is an amount from then on. */
  isHeard = false
  /** What a person would say is on its way. */
  clean = 0n
  /** Not on its way any more, and contained in what the provider tells. */
  taken = 0n

  get told(): bigint {
    return this.clean + this.taken
  }

  /** What is on its way, as it is read. */
  get pending(): bigint {
    const { isExact, notedUnits } = this.way
    return isExact ? onItsWay(this.way, notedUnits) : notedUnits
  }

  tell(): void {
    const { way, told } = this
    this.isHeard ||= told > 0n
    const isExact = told > 0n || way.isExact || way.notedUnits > 0n
    this.way = { ...way, goneUnits: goneAfter(way, told), notedUnits: told, isExact }
  }

  freeze(part: number): void {
    const units = (this.clean * BigInt(part)) / 10n
    this.clean -= units
    this.taken += units
    // the amount that was told is noted in the words of this version first, as a report does
    if (this.way.notedUnits > 0n) this.note()
    this.way = { ...this.way, frozenUnits: this.way.frozenUnits + units }
  }

  /** What an older node noted, in the words of this version. */
  note(): void {
    const { way } = this
    if (!way.isExact) this.way = { ...way, notedUnits: this.told, isExact: true }
  }

  /** A person returned a block of the amounts that are named. What is told first after that is other money. */
  decide(): void {
    if (this.isHeard) return
    this.isHeard = true
    this.way = { ...this.way, isExact: true }
    this.taken = 0n
  }

  /** The price stands in for the amount: all of it came, where less was told than counts as paid. */
  guess(): void {
    const { way } = this
    const before = toldOf(way)
    if (before < PRICE - TOLERANCE) {
      this.taken = this.taken < PRICE ? this.taken : PRICE
      this.clean = PRICE - this.taken
    }
    const told = toldByEstimate(before, { price: PRICE, tolerance: TOLERANCE })
    this.isHeard = true
    this.way = { ...way, goneUnits: goneAfter(way, told), notedUnits: told, isExact: true }
  }

  return(): void {
    this.decide()
    const { way } = this
    const told = toldOf(way)
    this.way = { ...way, notedUnits: told, isExact: way.isExact || told > 0n, goneUnits: goneAfterReturn(way) }
    this.taken += this.clean
    this.clean = 0n
  }

  do({ kind, part }: Act): void {
    if (kind === 'freeze') return void this.freeze(part)
    if (kind === 'return') return void this.return()
    if (kind === 'decide') return void this.decide()
    if (kind === 'guess') return void this.guess()
    if (kind === 'arrive') this.clean += BigInt(part)
    if (kind === 'leave') this.taken = 0n
    if (kind === 'end') [this.clean, this.taken] = [0n, 0n]
    this.tell()
    // it takes off what is frozen, and what leaves at that moment is not seen
    if (kind === 'older') this.way = { ...this.way, notedUnits: this.clean, isExact: false }
  }
}

/** `isTold`: before the first act. Unless it is, all of it is frozen: nobody can know of the rest. */
type First = { clean: bigint; frozen: number; isTold: boolean }

/** @returns what is wrong after these acts */
function findFault(acts: readonly Act[], first: First): string | undefined {
  const money = new Money()
  money.clean = first.clean
  money.freeze(first.isTold ? first.frozen : 10)
  if (first.isTold) money.tell()
  for (const act of acts) {
    money.do(act)
    const state = `${money.pending} instead of ${money.clean} of ${money.told}`
    if (money.pending !== money.clean) return state
    if (!money.isHeard) continue
    money.tell()
    if (money.pending !== money.clean) return `a repetition makes it ${money.pending}: ${state}`
  }
  return undefined
}

test('whatever comes, is frozen, returned, leaves or ends, before the first amount is told or after it: the rest is on its way', () => {
  const kinds = ['arrive', 'freeze', 'return', 'decide', 'leave', 'end', 'older', 'tell', 'guess'] as const
  const random = randomBelow(83)
  for (let walk = 0; walk < 20_000; walk += 1) {
    const first = { clean: BigInt(random(60)), frozen: random(11), isTold: random(3) > 0 }
    const acts = Array.from(
      { length: 2 + random(10) },
      (): Act => ({ kind: kinds[random(kinds.length)] ?? 'tell', part: 1 + random(10) }),
    )
    const fault = findFault(acts, first)
    if (fault === undefined) continue
    assert.fail(`${JSON.stringify({ ...first, clean: Number(first.clean) })} ${JSON.stringify(acts)} => ${fault}`)
  }
})

test('in doubt money is on its way: what a smaller amount lacks was frozen, and what a larger one adds is new', () => {
  const way: Way = { notedUnits: 54n, isExact: true, frozenUnits: 54n, goneUnits: null }
  for (const [told, left, gone] of [
    [54n, 0n, null],
    [59n, 5n, 0n],
    [20n, 0n, 34n],
    [0n, 0n, 54n],
  ] as const)
    assert.deepEqual([onItsWay(way, told), goneAfter(way, told)], [left, gone], `${told}`)
  const fell = { ...way, notedUnits: 0n, goneUnits: 54n }
  assert.deepEqual([onItsWay(fell, 54n), goneAfter(fell, 54n)], [54n, 54n], 'it is other money')
  const unheard = { ...way, notedUnits: 0n, isExact: false }
  assert.deepEqual([onItsWay(unheard, 54n), onItsWay(unheard, 60n)], [0n, 6n], 'nothing fell')
})

type Transfer = { units: bigint; isLooked: boolean }

const sumOf = (transfers: readonly Transfer[]): bigint => transfers.reduce((sum, { units }) => sum + units, 0n)
const least = (one: bigint, other: bigint): bigint => (one < other ? one : other)

/** Single transfers at a provider that tells only sums, and what the service makes of these. */
class Transfers {
  state: Unexplained = known(0n, 0n)
  told: Transfer[] = []
  /** They were told, and neither arrived nor were they looked at since. */
  gone: Transfer[] = []
  isReturned = false
  /** What may be hidden, as docs/screening.md says. */
  doubt = 0n
  /** What fell while other money stayed on its way: as much again is taken for the same money. */
  fell = 0n

  /** What nobody looked at, and is neither received nor recorded. */
  get unseen(): bigint {
    return sumOf([...this.told, ...this.gone].filter(({ isLooked }) => !isLooked))
  }

  look(): void {
    this.state = known(sumOf(this.told), 0n, sumOf(this.told))
    this.doubt = 0n
    this.fell = 0n
    this.gone = []
    for (const transfer of this.told) transfer.isLooked = true
  }

  return(): void {
    this.look()
    this.told = []
    this.isReturned = true
    this.state = known(0n, 0n)
  }

  /** Some leave, some arrive, some are told again, others are new, and money arrives that was never told. */
  report(random: (below: number) => number): void {
    const before = sumOf(this.told)
    const goes = this.told.map((one) => ({
      one,
      how: ['stay', 'stay', 'stay', 'leave', 'arrive', 'arrive'][random(6)],
    }))
    const of = (how: string): Transfer[] => goes.filter((one) => one.how === how).map(({ one }) => one)
    const returns = this.gone.map((one) => ({ one, how: ['stay', 'stay', 'again', 'arrive'][random(4)] }))
    const again = returns.filter(({ how }) => how === 'again').map(({ one }) => one)
    const late = returns.filter(({ how }) => how === 'arrive').map(({ one }) => one)
    const fresh = random(2) === 0 ? [{ units: BigInt(1 + random(60)), isLooked: false }] : []
    const other = random(5) === 0 ? BigInt(1 + random(60)) : 0n
    this.told = [...of('stay'), ...again, ...fresh]
    this.gone = [...returns.filter(({ how }) => how === 'stay').map(({ one }) => one), ...of('leave')]
    const after = sumOf(this.told)
    const arrived = sumOf(of('arrive')) + sumOf(late) + other
    this.fell += sumOf(of('leave'))
    const isKnown = (units: bigint): bigint => {
      const same = least(units, this.fell)
      this.fell -= same
      return same
    }
    isKnown(sumOf(again))
    this.doubt += isKnown(sumOf(fresh))
    if (after === 0n) this.fell = 0n
    // it fits into what left, and is other money all the same
    if (arrived <= before - after + DUST) this.doubt += least(sumOf(late) + other, sumOf(of('leave')))
    this.state = afterReport(this.state, { before, after, arrived }, DUST)
  }
}

const DUST = 2n

test('random: what was told after a person looked, and neither came nor was recorded, is not hidden, but for what docs name', () => {
  const random = randomBelow(84)
  let certain = 0
  for (let walk = 0; walk < 20_000; walk += 1) {
    const money = new Transfers()
    for (let step = 0; step < 8; step += 1) {
      const act = random(8)
      if (act === 0) money.return()
      // a block after the return: whatever is unexplained is told to a person
      else if (act === 1 && money.isReturned && money.state.openUnits > 0n) {
        money.look()
        money.isReturned = false
      } else money.report(random)
      const { doubt, state, unseen } = money
      assert.ok(state.openUnits + doubt >= unseen, `walk ${walk}, step ${step}: ${state.openUnits} of ${unseen}`)
      if (unseen > 0n && doubt === 0n) certain += 1
      if (!money.isReturned && state.openUnits > 0n) money.look()
    }
  }
  assert.ok(certain > 20_000, `${certain}`)
})

test('random: what arrives in the report that shows it leaving is explained, in whatever parts it comes and arrives', () => {
  const random = randomBelow(85)
  for (let walk = 0; walk < 5000; walk += 1) {
    let state: Unexplained = known(0n, 0n)
    let told: bigint[] = []
    const tell = (next: bigint[], arrived: bigint) => {
      const [before, after] = [told, next].map((units) => units.reduce((sum, one) => sum + one, 0n))
      state = afterReport(state, { before: before ?? 0n, after: after ?? 0n, arrived }, DUST)
      told = next
    }
    for (let step = 0; step < 8; step += 1) {
      const [first = 0n, ...rest] = told
      if (random(2) === 0) tell([...told, BigInt(1 + random(60))], 0n)
      else tell(rest, first)
    }
    tell(
      [],
      told.reduce((sum, one) => sum + one, 0n),
    )
    assert.deepEqual(state, known(0n, 0n))
  }
})

test('an arrival explains what left if it fits into that, and nothing otherwise', () => {
  const rows: [Unexplained, [before: bigint, after: bigint, arrived: bigint], Unexplained][] = [
    [known(0n, 0n), [0n, 54n, 0n], known(54n, 54n)],
    [known(54n, 54n), [54n, 0n, 0n], known(0n, 54n)],
    // as much again after nothing was on its way is other money; before that, it is the same
    [known(0n, 54n), [0n, 54n, 0n], known(54n, 108n)],
    [known(54n, 0n), [30n, 54n, 0n], known(54n, 0n)],
    [known(54n, 54n), [54n, 34n, 20n], known(34n, 34n)],
    [known(54n, 54n), [54n, 0n, 56n], known(0n, 0n)],
    [known(54n, 54n), [54n, 0n, 57n], known(0n, 54n)],
    [known(0n, 20n), [0n, 0n, 20n], known(0n, 20n)],
    // one came, and as much again is on its way: or another one came
    [known(54n, 0n), [54n, 54n, 54n], known(54n, 54n)],
    // what a person knows of stays until it arrives; what he does not know of arrives first
    [known(54n, 0n, 54n), [54n, 0n, 0n], known(0n, 0n, 54n)],
    [known(0n, 0n, 54n), [0n, 54n, 0n], known(54n, 54n, 54n)],
    [known(54n, 20n, 34n), [54n, 24n, 30n], known(24n, 0n, 24n)],
    // an older node raised it
    [known(0n, 0n), [54n, 54n, 0n], known(54n, 54n)],
  ]
  for (const [state, [before, after, arrived], next] of rows)
    assert.deepEqual(afterReport(state, { before, after, arrived }, DUST), next, `${before} ${after} ${arrived}`)
})

function known(peakUnits: bigint, openUnits: bigint, knownUnits = 0n): Unexplained {
  return { peakUnits, openUnits, knownUnits }
}
