import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { test } from 'node:test'
import { Decimal } from 'decimal.js'
import {
  type Asset,
  convert,
  EXPONENTS,
  type Fiat,
  formatDecimal,
  formatMoney,
  parseDecimal,
  parseMoney,
  parseMoneyNumber,
  proportion,
  proportionUp,
  RATE_EXPONENT,
} from './money.ts'

const Exact = Decimal.clone({ precision: 100, rounding: Decimal.ROUND_DOWN, toExpNeg: -100, toExpPos: 100 })

const FIATS: readonly Fiat[] = ['EUR', 'CHF', 'XPF', 'USD', 'GBP']

const randomDigits = (length: number): string => Array.from({ length }, () => randomInt(10)).join('')

const pick = <Item>(items: readonly Item[]): Item => items[randomInt(items.length)] as Item

/** From the smallest unit to far beyond any real sale, with few and with many digits. */
function randomAmount(asset: Asset): string {
  const whole = randomDigits(randomInt(1, 13))
  const decimals = randomInt(0, EXPONENTS[asset] + 1)
  return decimals === 0 ? whole : `${whole}.${randomDigits(decimals)}`
}

const randomRate = (): string => `${randomInt(0, 3)}.${randomDigits(randomInt(1, RATE_EXPONENT + 1))}`

test('100 000 random amounts at random rates are converted as another library does it exactly, rounded down', () => {
  for (let turn = 0; turn < 100_000; turn += 1) {
    const asset = pick(FIATS)
    const [amount, rate] = [randomAmount(asset), randomRate()]
    const got = convert(parseMoney(amount, asset), parseDecimal(rate, RATE_EXPONENT) ?? -1n, 'USDC')
    const expected = new Exact(amount).times(rate).toDecimalPlaces(6, Decimal.ROUND_DOWN).toFixed(6)
    assert.equal(formatMoney(got), expected, `${amount} ${asset} at ${rate}`)
  }
})

test('printed amounts are read back as the same units, for every asset', () => {
  for (let turn = 0; turn < 20_000; turn += 1) {
    const asset = pick(Object.keys(EXPONENTS) as Asset[])
    const units = BigInt(randomDigits(randomInt(1, 19)))
    const text = formatMoney({ asset, units })
    assert.deepEqual(parseMoney(text, asset), { asset, units })
    assert.equal(text, new Exact(units.toString()).div(new Exact(10).pow(EXPONENTS[asset])).toFixed(EXPONENTS[asset]))
  }
})

test('what was read prints with exactly the asset’s digits', () => {
  assert.equal(formatMoney(parseMoney('12.5', 'EUR')), '12.50')
  assert.equal(formatMoney(parseMoney('007', 'XPF')), '7')
  assert.equal(formatMoney(parseMoney('0.1', 'USDC')), '0.100000')
  assert.equal(formatMoney(parseMoney('1.500000', 'EUR')), '1.50')
  assert.equal(formatDecimal(-1n, 6), '-0.000001')
})

test('what is no plain decimal of the asset is refused, never rounded', () => {
  for (const text of ['', '.5', '5.', '-1', '+1', '1e3', '1,5', ' 1', '1 ', '0x10', 'NaN', '١', '1.001', '1_000']) {
    assert.throws(() => parseMoney(text, 'EUR'), { code: 'ILLEGAL_AMOUNT' }, text)
  }
  assert.throws(() => parseMoney('0.5', 'XPF'), { code: 'ILLEGAL_AMOUNT' })
})

test('a refusal names what is wrong with the amount', () => {
  const plain = 'The amount must be a plain decimal with at most 2 digits after the point for EUR.'
  for (const [text, message] of [
    ['-5', 'The amount must be more than 0.'],
    ['9'.repeat(25), 'The amount is too large.'],
    ['1e30', plain],
    ['1.001', plain],
    ['many', plain],
  ] as const) {
    assert.throws(() => parseMoney(text, 'EUR'), { message }, text)
  }
  assert.throws(() => parseMoneyNumber(-5, 'EUR'), { message: 'The amount must be more than 0.' })
  assert.throws(() => parseMoneyNumber(1e30, 'EUR'), { message: 'The amount is too large.' })
})

test('a refund’s share is never more than its proportion, and the whole is the whole', () => {
  for (let turn = 0; turn < 10_000; turn += 1) {
    const [whole, total] = [BigInt(randomDigits(9)), BigInt(randomDigits(9)) + 1n]
    const part = (total * BigInt(randomInt(0, 1001))) / 1000n
    const exact = new Exact(whole.toString()).times(part.toString()).div(total.toString()).floor()
    assert.equal(proportion(whole, part, total).toString(), exact.toFixed(0))
    assert.equal(proportion(whole, total, total), whole)
  }
})

test('what was converted into smaller units, rounded down, comes back as what it was', () => {
  for (let turn = 0; turn < 10_000; turn += 1) {
    const fiat = BigInt(randomDigits(5)) + 1n
    const units = fiat + BigInt(randomDigits(9))
    const part = (fiat * BigInt(randomInt(0, 1001))) / 1000n
    assert.equal(proportionUp(fiat, proportion(units, part, fiat), units), part)
  }
})

test('a JSON number means the amount within 0.000001 of it, or none', () => {
  for (const [value, asset, units] of [
    [30.299999999999997, 'EUR', 3030n],
    [1.000001, 'EUR', 100n],
    [0.999999, 'EUR', 100n],
    [1e-7, 'XPF', undefined],
    [1.0000011, 'EUR', undefined],
    [10.005, 'EUR', undefined],
    [1e21, 'EUR', undefined],
    [Number.NaN, 'EUR', undefined],
  ] as const) {
    if (units === undefined) assert.throws(() => parseMoneyNumber(value, asset), { code: 'ILLEGAL_AMOUNT' })
    else assert.equal(parseMoneyNumber(value, asset).units, units, String(value))
  }
})
