import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseAddress } from '../src/kernel/addresses.ts'

test('an address is read in one case, in capitals with either x, or with its checksum; a wrong checksum is a typo', () => {
  const checksummed = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
  const lower = checksummed.toLowerCase()
  const capitals = lower.slice(2).toUpperCase()
  assert.equal(parseAddress(checksummed), checksummed)
  assert.equal(parseAddress(`0X${checksummed.slice(2)}`), checksummed)
  for (const text of [lower, `0x${capitals}`, `0X${capitals}`, `0X${lower.slice(2)}`])
    assert.equal(parseAddress(text), lower)
  for (const text of [
    checksummed.replace('dc3A', 'Dc3A'),
    lower.slice(2),
    lower.slice(0, -1),
    `${lower}0`,
    ` ${lower}`,
    '',
  ])
    assert.equal(parseAddress(text), undefined, text)
})
