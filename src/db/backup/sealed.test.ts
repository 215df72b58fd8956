import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openVault } from '../../kernel/vault.ts'
import { type BackupFacts, BackupFault, seal, unseal } from './sealed.ts'

const KEY = Buffer.alloc(32, 7)
const FACTS: BackupFacts = {
  madeAt: '2030-01-02T03:04:05.000Z',
  mode: 'live',
  schema: '0001_first',
  life: '0123456789ab',
}
const CHUNK = 65_536

async function* pieces(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let from = 0; from < bytes.length; from += size) yield bytes.subarray(from, from + size)
}

async function gather(source: AsyncIterable<Buffer>): Promise<Buffer> {
  const parts: Buffer[] = []
  for await (const part of source) parts.push(part)
  return Buffer.concat(parts)
}

const sealed = (plain: Buffer, size = 1000): Promise<Buffer> =>
  gather(seal(pieces(plain, size), { vault: openVault(KEY), facts: FACTS }))

async function opened(bytes: Buffer, keys: readonly Buffer[] = [KEY], size = 777): Promise<Buffer> {
  const { content } = await unseal(
    pieces(bytes, size),
    keys.map((key) => openVault(key)),
  )
  return gather(content)
}

const refuses = (bytes: Buffer, words: RegExp, keys?: readonly Buffer[]): Promise<void> =>
  assert.rejects(opened(bytes, keys), (error) => error instanceof BackupFault && words.test(error.message))

test('what was sealed opens again, whatever its length', async () => {
  for (const length of [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK]) {
    const plain = Buffer.alloc(length, 'déjà')
    const bytes = await sealed(plain)
    assert.ok(plain.equals(await opened(bytes)), `${length} bytes`)
    const { facts } = await unseal(pieces(bytes, 50), [openVault(KEY)])
    assert.deepEqual(facts, FACTS)
  }
})

test('another key is named as such, and a previous one opens', async () => {
  const bytes = await sealed(Buffer.from('secret'))
  await refuses(bytes, /another master key .* Set MASTER_KEY/, [Buffer.alloc(32, 1)])
  assert.equal((await opened(bytes, [Buffer.alloc(32, 1), KEY])).toString(), 'secret')
  assert.equal(bytes.includes('secret'), false)
})

test('a backup that was cut off anywhere is refused, also between two chunks', async () => {
  const bytes = await sealed(Buffer.alloc(2 * CHUNK + 5, 1))
  const head = bytes.indexOf(10) + 1
  for (const end of [bytes.length - 1, head + 2 * (CHUNK + 16), head + CHUNK + 16, head + 10, head])
    await refuses(bytes.subarray(0, end), /cut off/)
  await refuses(bytes.subarray(0, head - 1), /not a backup|beginning/)
})

test('a changed byte, exchanged chunks and a changed description are refused', async () => {
  const plain = Buffer.concat([Buffer.alloc(CHUNK, 1), Buffer.alloc(CHUNK, 2), Buffer.alloc(9, 3)])
  const bytes = await sealed(plain)
  const head = bytes.indexOf(10) + 1
  const size = CHUNK + 16
  const flipped = Buffer.from(bytes)
  flipped[head + size + 3] = (flipped[head + size + 3] ?? 0) ^ 1
  await refuses(flipped, new RegExp(`damaged at byte ${head + size}`))
  const [first, second] = [bytes.subarray(head, head + size), bytes.subarray(head + size, head + 2 * size)]
  const exchanged = Buffer.concat([bytes.subarray(0, head), second, first, bytes.subarray(head + 2 * size)])
  await refuses(exchanged, /damaged/)
  await refuses(Buffer.from(bytes.toString('latin1').replace('"mode":"live"', '"mode":"sand"'), 'latin1'), /damaged/)
  await refuses(Buffer.from('PGDMP'), /not a backup of Comptoir/)
})
