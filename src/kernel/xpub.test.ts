import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, it } from 'node:test'
import { HDKey } from '@scure/bip32'
import { privateKeyToAccount } from 'viem/accounts'
import type { AppError } from './errors.ts'
import { deriveAddress, deriveAddresses, parseXpub } from './xpub.ts'

/** m/44'/60'/0' of the public test phrase "test test test test test test test test test test test junk". */
const TEST_XPUB =
  'xpub6Ce9NcJvTk36xtLSrJLZqE7wtgA5deCeYs7rSQtreh4cj6ByPtrg9sD7V2FNFLPnf8heNP3FGkeV9qwfzvZNSd54JoNXVsXFYSYwHsnJxqP'

const refusal = (input: string): string => {
  try {
    parseXpub(input)
  } catch (error) {
    const { code, message, details } = error as AppError
    assert.equal(code, 'VALIDATION_FAILED')
    assert.deepEqual(details, [{ path: 'xpub', message }])
    if (input.length > 24) assert.ok(!message.includes(input.slice(8, 24)), 'a refusal never repeats what was pasted')
    return message
  }
  return 'accepted'
}

describe('an extended public key', () => {
  it('gives the addresses that every wallet gives for the well-known test phrase', () => {
    assert.equal(deriveAddress(TEST_XPUB, 0), '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266')
    assert.equal(deriveAddress(TEST_XPUB, 1), '0x70997970C51812dc3A010C7d01b50e0d17dc79C8')
    assert.equal(deriveAddress(TEST_XPUB, 9), '0xa0Ee7A142d267C1f36714E4a8F75612F20a79720')
    // the first points whose y and x begin with a zero byte
    assert.equal(deriveAddress(TEST_XPUB, 24), '0x61097BA76cD906d2ba4FD106E757f7Eb455fc295')
    assert.equal(deriveAddress(TEST_XPUB, 286), '0xD5031Fa6e2e1B9942d7104cB3f852235C540fE1a')
  })

  it('gives at every index the address that the private key gives', () => {
    const account = HDKey.fromMasterSeed(randomBytes(32)).derive("m/44'/60'/0'")
    for (const index of [0, 1, 77, 2 ** 31 - 1]) {
      const { privateKey } = account.deriveChild(0).deriveChild(index)
      const { address } = privateKeyToAccount(`0x${Buffer.from(privateKey ?? []).toString('hex')}`)
      assert.equal(deriveAddress(account.publicExtendedKey, index), address)
    }
  })

  it('gives many addresses at once as one by one, also those whose points begin with a zero byte', () => {
    for (const [xpub, from] of [
      [TEST_XPUB, 0],
      [HDKey.fromMasterSeed(randomBytes(32)).derive("m/44'/60'/0'").publicExtendedKey, 2 ** 31 - 300],
    ] as const) {
      const indexes = Array.from({ length: 300 }, (_, offset) => from + offset)
      const oneByOne = indexes.map((index) => deriveAddress(xpub, index))
      assert.deepEqual(deriveAddresses(xpub, indexes), oneByOne)
      assert.deepEqual(deriveAddresses(xpub, [from + 9, from + 7]), [oneByOne[9], oneByOne[7]])
    }
    assert.deepEqual(deriveAddresses(TEST_XPUB, []), [])
  })

  it('has the same id in whatever wallet it was made, another key another one', () => {
    const key = HDKey.fromMasterSeed(randomBytes(32)).derive("m/44'/60'/0'")
    assert.equal(parseXpub(` ${key.publicExtendedKey}\n`).id, parseXpub(key.publicExtendedKey).id)
    assert.notEqual(parseXpub(TEST_XPUB).id, parseXpub(key.publicExtendedKey).id)
    assert.equal(parseXpub(TEST_XPUB).depth, 3)
  })

  it('is refused loudly when it is a private key or a recovery phrase', () => {
    const { privateExtendedKey } = HDKey.fromMasterSeed(randomBytes(32))
    assert.match(refusal(privateExtendedKey), /PRIVATE key.*not stored/)
    assert.match(refusal(randomBytes(32).toString('hex')), /PRIVATE key/)
    assert.match(refusal(`${'test '.repeat(11)}junk`), /recovery phrase/)
  })

  it('is refused with the reason when it is mistyped, cut off, or no such key', () => {
    const typo = TEST_XPUB.replace('36xt', '36xs')
    assert.match(refusal(typo), /checksum/)
    assert.match(refusal(TEST_XPUB.slice(0, -3)), /Copy it again/)
    assert.match(refusal(TEST_XPUB.replace('xpub', 'zpub')), /begins with zpub/)
    assert.match(refusal('0x70997970C51812dc3A010C7d01b50e0d17dc79C8'), /not an extended public key/)
    assert.match(refusal(''), /not an extended public key/)
  })

  it('has no hardened children', () => {
    for (const index of [2 ** 31, -1, 0.5, Number.NaN]) {
      assert.throws(() => deriveAddress(TEST_XPUB, index), RangeError)
      assert.throws(() => deriveAddresses(TEST_XPUB, [0, index]), RangeError)
    }
  })
})
