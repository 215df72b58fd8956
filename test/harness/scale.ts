import assert from 'node:assert/strict'

const { TEST_SCALE = '1' } = process.env
assert.ok(Number(TEST_SCALE) > 0, 'TEST_SCALE must be a number above 0')

/** How many a random run takes: a sample by default, `TEST_SCALE` times as many for a longer search. */
export const scaled = (count: number): number => Math.ceil(count * Number(TEST_SCALE))
