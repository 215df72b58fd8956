import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { packFiles, unpackFiles } from './archive.ts'
import { lacksChain, placeSandboxFiles, SANDBOX_FOLDER, sandboxItems } from './sandbox-files.ts'

/** As anvil saves it: the blocks in no order. */
function chainOf(seed: string, length: number): Buffer {
  const blocks = Array.from({ length: length + 1 }, (_, number) => ({
    header: { parentHash: `${seed} ${number - 1}`, number: `0x${number.toString(16)}` },
  }))
  return gzipSync(JSON.stringify({ best_block_number: length, blocks: blocks.reverse() }))
}

/** The data directory of a backup with ten blocks, its files unpacked in a cluster, and where they shall go. */
async function openPlaces(t: TestContext) {
  const [from, cluster, to] = [0, 1, 2].map(() => mkdtempSync(join(tmpdir(), 'comptoir-files-'))) as [
    string,
    string,
    string,
  ]
  t.after(() => {
    for (const folder of [from, cluster, to]) rmSync(folder, { recursive: true, force: true })
  })
  const backup = chainOf('one', 10)
  writeFileSync(join(from, 'chain.json'), backup)
  writeFileSync(join(from, 'providers.json'), 'payments')
  writeFileSync(join(from, 'master.key'), 'never in a backup')
  await unpackFiles(packFiles(sandboxItems(from)), cluster, () => {})
  const read = (name: string): string => readFileSync(join(to, name), 'latin1')
  return { backup: backup.toString('latin1'), cluster, to, read }
}

const putThere = (to: string, chain: Buffer): void => {
  writeFileSync(join(to, 'chain.json'), chain)
  writeFileSync(join(to, 'providers.json'), 'payments there')
  writeFileSync(join(to, 'screening.json'), 'answers there')
}

test('what a sandbox keeps beside its database is restored with it', async (t) => {
  const { backup, cluster, to, read } = await openPlaces(t)
  assert.deepEqual(readdirSync(join(cluster, SANDBOX_FOLDER)).sort(), ['chain.json', 'providers.json'])
  assert.equal(lacksChain(to), true)
  assert.deepEqual(await placeSandboxFiles(cluster, to), { kept: 'backup', aside: [] })
  assert.equal(lacksChain(to), false)
  assert.deepEqual([read('chain.json'), read('providers.json')], [backup, 'payments'])
  assert.deepEqual([readdirSync(cluster), readdirSync(to).sort()], [[], ['chain.json', 'providers.json']])
  assert.deepEqual(await placeSandboxFiles(cluster, to), { kept: 'none', aside: [] })
})

test('a chain that goes on from the backup’s stays, and its other files with it', async (t) => {
  const { cluster, to, read } = await openPlaces(t)
  putThere(to, chainOf('one', 12))
  assert.deepEqual(await placeSandboxFiles(cluster, to), { kept: 'there', aside: [] })
  assert.deepEqual(
    [read('chain.json'), read('providers.json')],
    [chainOf('one', 12).toString('latin1'), 'payments there'],
  )
  assert.deepEqual([readdirSync(cluster), readdirSync(to).length], [[], 3])
})

test('chains longer than any string are compared all the same', async (t) => {
  const { cluster, to, read } = await openPlaces(t)
  // more than 512 MiB of text before the last header
  const part = gzipSync('{}, '.repeat(1 << 18))
  const end = gzipSync('{"header":{"parentHash":"long","number":"0x3d0900"}}]}')
  const chain = Buffer.concat([gzipSync('{"blocks":['), ...Array.from({ length: 515 }, () => part), end])
  writeFileSync(join(cluster, SANDBOX_FOLDER, 'chain.json'), chain)
  writeFileSync(join(to, 'chain.json'), chain)
  writeFileSync(join(to, 'providers.json'), 'payments there')
  assert.deepEqual(await placeSandboxFiles(cluster, to), { kept: 'there', aside: [] })
  assert.equal(read('providers.json'), 'payments there')
})

for (const [what, chain] of [
  ['a chain that is cut short', chainOf('one', 99).subarray(0, -8)],
  ['an older chain', chainOf('one', 9)],
  ['another chain, however long', chainOf('two', 99)],
  ['what is no chain', Buffer.from('no chain')],
] as const)
  test(`${what} is set aside with the other files: the database knows more than it`, async (t) => {
    const { backup, cluster, to, read } = await openPlaces(t)
    putThere(to, chain)
    const names = ['chain.json', 'providers.json', 'screening.json'].map((name) => `${name}.before-restore`)
    const aside = names.map((name) => join(to, name))
    assert.deepEqual(await placeSandboxFiles(cluster, to), { kept: 'backup', aside })
    assert.deepEqual([read('chain.json'), read('providers.json')], [backup, 'payments'])
    assert.deepEqual(read('chain.json.before-restore'), chain.toString('latin1'))
    assert.equal(existsSync(join(to, 'screening.json')), false)
  })

test('what an earlier restore set aside stays: a later one gives other names', async (t) => {
  const { cluster, to, read } = await openPlaces(t)
  putThere(to, chainOf('two', 99))
  await placeSandboxFiles(cluster, to)
  for (const end of ['-2', '-3']) {
    const next = await openPlaces(t)
    writeFileSync(join(to, 'chain.json'), chainOf(`three${end}`, 5))
    const { aside } = await placeSandboxFiles(next.cluster, to)
    assert.deepEqual(
      aside,
      ['chain.json', 'providers.json'].map((name) => join(to, `${name}.before-restore${end}`)),
    )
    assert.equal(read(`chain.json.before-restore${end}`), chainOf(`three${end}`, 5).toString('latin1'))
  }
  const kept = ['chain.json', 'providers.json'].map((name) => read(`${name}.before-restore`))
  assert.deepEqual(kept, [chainOf('two', 99).toString('latin1'), 'payments there'])
})

test('files that are set aside keep one ending, whatever was set aside before and where it was killed', async (t) => {
  const { cluster, to } = await openPlaces(t)
  putThere(to, chainOf('two', 99))
  // an earlier restore found a chain alone
  writeFileSync(join(to, 'chain.json.before-restore'), 'earlier')
  // killed after the first one
  writeFileSync(join(cluster, SANDBOX_FOLDER, 'ending'), '.before-restore-2\n')
  renameSync(join(to, 'chain.json'), join(to, 'chain.json.before-restore-2'))
  const { aside } = await placeSandboxFiles(cluster, to)
  assert.deepEqual(
    aside,
    ['providers.json', 'screening.json'].map((name) => join(to, `${name}.before-restore-2`)),
  )
})

test('killed anywhere it goes on as it was decided', async (t) => {
  const { backup, cluster, to, read } = await openPlaces(t)
  putThere(to, chainOf('one', 9))
  // killed while those that are there are set aside
  renameSync(join(to, 'chain.json'), join(to, 'chain.json.before-restore'))
  // … and while the others are put in their place
  const chosen = join(cluster, `${SANDBOX_FOLDER}.chosen`)
  await placeSandboxFiles(cluster, to)
  await unpackFiles(packFiles(sandboxItems(to)), cluster, () => {})
  renameSync(join(cluster, SANDBOX_FOLDER), chosen)
  renameSync(join(chosen, 'chain.json'), join(to, 'chain.json'))
  rmSync(join(to, 'providers.json'))
  assert.deepEqual(await placeSandboxFiles(cluster, to), { kept: 'backup', aside: [] })
  assert.deepEqual([read('chain.json'), read('providers.json')], [backup, 'payments'])
  assert.deepEqual(readdirSync(cluster), [])
})
