import { createHash } from 'node:crypto'
import { invalid } from '../../kernel/errors.ts'
import { redrawPicture } from '../../kernel/pictures/picture.ts'
import type { Logo } from './logo-queries.ts'

export const MAX_LOGO_BYTES = 200_000
/** Shown 40 pixels high; three times that for sharp screens. */
const LIMITS = { path: 'image', maxSide: 2000, box: { width: 480, height: 120 } }

/** @throws VALIDATION_FAILED at `image` */
export async function readLogo(bytes: Buffer): Promise<Logo> {
  if (bytes.length > MAX_LOGO_BYTES) throw invalid('image', 'must be at most 200 kB; make the picture smaller')
  const drawn = await redrawPicture(bytes, LIMITS)
  return { hash: createHash('sha256').update(drawn).digest('hex').slice(0, 32), mime: 'image/webp', bytes: drawn }
}
