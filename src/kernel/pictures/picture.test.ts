import assert from 'node:assert/strict'
import { execFile, spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { Transformer } from '@napi-rs/image'
import { redrawPicture, sizeOfPicture } from './picture.ts'

const LIMITS = { path: 'image', maxSide: 2000, box: { width: 480, height: 120 } }
const pixels = (side: number) => Transformer.fromRgbaPixels(Buffer.alloc(side * side * 4, 0x7f), side, side)
const redraw = (file: Buffer) => redrawPicture(file, LIMITS)

/** Where a JPEG's frame header begins. */
function frameAt(jpeg: Buffer): number {
  let at = 2
  while ((jpeg[at + 1] ?? 0) < 0xc0 || (jpeg[at + 1] ?? 0) > 0xc2) at += 2 + jpeg.readUInt16BE(at + 2)
  return at
}

/** A JPEG with a fill byte (ITU T.81, B.1.1.2) before the frame header, which says that side. */
async function filledJpeg(side: number): Promise<Buffer> {
  const jpeg = Buffer.from(await pixels(64).jpeg(50))
  const at = frameAt(jpeg)
  jpeg.writeUInt16BE(side, at + 5)
  jpeg.writeUInt16BE(side, at + 7)
  return Buffer.concat([jpeg.subarray(0, at), Buffer.from([0xff]), jpeg.subarray(at)])
}

/** A chunk of a PNG; nobody checks its sum before it is refused. */
const withChunk = (png: Buffer, kind: string): Buffer =>
  Buffer.concat([png.subarray(0, 33), Buffer.from([0, 0, 0, 8]), Buffer.from(kind), Buffer.alloc(12), png.subarray(33)])

test('a JPEG’s size is read behind fill bytes, so that a large one is refused before it is decoded', async () => {
  assert.deepEqual(sizeOfPicture(await filledJpeg(9000)), { width: 9000, height: 9000 })
  await assert.rejects(redraw(await filledJpeg(9000)), { code: 'VALIDATION_FAILED' })
  assert.equal((await redraw(await filledJpeg(64))).toString('latin1', 8, 12), 'WEBP')
})

test('a picture that the decoder reads larger than its header says is refused', async () => {
  const webp = Buffer.from(await pixels(64).webp(50))
  const size = webp.indexOf(Buffer.from([0x9d, 0x01, 0x2a])) + 3
  assert.equal(webp.readUInt16LE(size), 64)
  // an extended header of 32 × 32 before a frame of 64 × 64
  const extended = Buffer.concat([Buffer.from('VP8X'), Buffer.from([10, 0, 0, 0, 0, 0, 0, 0, 31, 0, 0, 31, 0, 0])])
  const lying = Buffer.concat([webp.subarray(0, 12), extended, webp.subarray(12)])
  lying.writeUInt32LE(lying.length - 8, 4)
  assert.deepEqual(sizeOfPicture(lying), { width: 32, height: 32 })
  await assert.rejects(redraw(lying), { code: 'VALIDATION_FAILED' })
})

test('moving pictures and broken ones are refused', async () => {
  const png = Buffer.from(await pixels(64).png())
  assert.equal((await redraw(png)).toString('latin1', 8, 12), 'WEBP')
  await assert.rejects(redraw(withChunk(png, 'acTL')), { code: 'VALIDATION_FAILED' })
  await assert.rejects(redraw(png.subarray(0, 60)), { code: 'VALIDATION_FAILED' })
})

test('a few pictures wait for each other, more are asked to come back', async () => {
  const png = Buffer.from(await pixels(200).png())
  const drawn = await Promise.allSettled(Array.from({ length: 5 }, () => redraw(png)))
  assert.deepEqual(
    drawn.map((one) => (one.status === 'fulfilled' ? 'drawn' : one.reason.code)),
    ['drawn', 'drawn', 'drawn', 'BUSY', 'BUSY'],
  )
  assert.equal((await redraw(png)).toString('latin1', 8, 12), 'WEBP')
})

const HERE = new URL('.', import.meta.url)

test('a picture is drawn where the process may not lower its priority, as under the systemd unit', async () => {
  // SystemCallFilter=~@resources answers setpriority with EPERM
  const forbids = `import os from 'node:os'; import { syncBuiltinESMExports } from 'node:module'
    os.setPriority = () => { throw new Error('EPERM') }; syncBuiltinESMExports()`
  const program = fileURLToPath(new URL('drawing-process.ts', HERE))
  const args = ['--import', `data:text/javascript,${encodeURIComponent(forbids)}`, program, '64', '64', '32', '32']
  const { stdout, stderr } = spawnSync(process.execPath, args, { input: await pixels(64).png() })
  assert.equal(stdout.toString('latin1', 8, 12), 'WEBP', stderr.toString())
})

test('a node without free descriptors asks to come back, and draws again once it has some', async () => {
  const program = `
    import { closeSync, openSync } from 'node:fs'
    import { Transformer } from '@napi-rs/image'
    import { redrawPicture } from '${new URL('picture.ts', HERE).href}'
    const png = Buffer.from(await Transformer.fromRgbaPixels(Buffer.alloc(64 * 64 * 4, 0x7f), 64, 64).png())
    const held = []
    try { for (;;) held.push(openSync('/dev/null', 'r')) } catch {}
    const refused = await redrawPicture(png, ${JSON.stringify(LIMITS)}).catch(({ code }) => code)
    await new Promise((resolve) => setTimeout(resolve, 50))
    for (const one of held) closeSync(one)
    console.log(refused, (await redrawPicture(png, ${JSON.stringify(LIMITS)})).toString('latin1', 8, 12))`
  const shell = 'ulimit -n 256 && exec "$0" --input-type=module -e "$1"'
  const { stdout } = await promisify(execFile)('bash', ['-c', shell, process.execPath, program], { cwd: HERE })
  assert.equal(stdout, 'BUSY WEBP\n')
})
