import { createRequire } from 'node:module'
import type jsQR from 'jsqr'
import type { Locator } from 'playwright-core'
import { PNG } from 'pngjs'

const decode = createRequire(import.meta.url)('jsqr') as typeof jsQR.default

/** What a camera would read: another library decodes the picture. Null when it sees no code, or a light one on dark. */
export async function readQr(element: Locator): Promise<string | null> {
  const { data, width, height } = PNG.sync.read(await element.screenshot())
  return decode(new Uint8ClampedArray(data), width, height, { inversionAttempts: 'dontInvert' })?.data ?? null
}
