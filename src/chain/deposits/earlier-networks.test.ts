import assert from 'node:assert/strict'
import { test } from 'node:test'
import { countedBeside } from './earlier-networks.ts'

const [NAMED, BASE, POLYGON] = [1, 8453, 137]

/** Units by the last report, and all that were seen. */
const came = (chainId: number | null, reported: number, seen: number) => ({
  chainId,
  bookedUnits: 54n,
  reportedUnits: BigInt(reported),
  seenUnits: BigInt(seen),
})

test('networks whose money makes up what the books hold have counted, and no others', () => {
  const cases: [string, ReturnType<typeof came>[], number[]][] = [
    ['nothing came', [], []],
    ['all came on the named one', [came(NAMED, 54, 54), came(BASE, 0, 54)], []],
    ['equal money came on the named one since', [came(NAMED, 0, 54), came(BASE, 54, 54)], [BASE]],
    ['equal money came on a third one since', [came(BASE, 54, 54), came(POLYGON, 0, 54)], [BASE]],
    ['half came on each', [came(NAMED, 27, 27), came(BASE, 27, 27)], [BASE]],
    ['on two others', [came(BASE, 30, 30), came(POLYGON, 24, 24)], [BASE, POLYGON]],
    ['it counted before it was beyond change', [came(BASE, 0, 54)], [BASE]],
    ['so did a part', [came(NAMED, 27, 27), came(BASE, 0, 27)], [BASE]],
    ['a person matched it', [came(null, 54, 54), came(BASE, 54, 54)], []],
    ['less came than counted', [came(BASE, 10, 10), came(POLYGON, 0, 20)], [BASE, POLYGON]],
    ['either of two', [came(BASE, 54, 54), came(POLYGON, 54, 54)], []],
  ]
  for (const [name, arrived, counted] of cases) assert.deepEqual(countedBeside([NAMED], arrived), counted, name)
})
