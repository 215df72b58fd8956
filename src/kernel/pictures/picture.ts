import { invalid } from '../errors.ts'
import { drawApart } from './drawing.ts'

type Size = { width: number; height: number }

function sizeOfPng(bytes: Buffer): Size | null {
  if (bytes.length < 24 || bytes.toString('latin1', 0, 8) !== '\x89PNG\r\n\x1a\n') return null
  return { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) }
}

/** The frame header (SOF) of a JPEG, after its other segments and their fill bytes (ITU T.81, annex B). */
function sizeOfJpeg(bytes: Buffer): Size | null {
  if (bytes.length < 4 || bytes.readUInt16BE(0) !== 0xffd8) return null
  for (let at = 2; at + 9 < bytes.length && bytes[at] === 0xff; ) {
    const marker = bytes[at + 1] ?? 0
    if (marker === 0xff) {
      at += 1
      continue
    }
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker)
    if (isFrame) return { height: bytes.readUInt16BE(at + 5), width: bytes.readUInt16BE(at + 7) }
    at += 2 + bytes.readUInt16BE(at + 2)
  }
  return null
}

/** RFC 9649: lossy, lossless and extended files keep their size in three places. */
function sizeOfWebp(bytes: Buffer): Size | null {
  if (bytes.length < 30 || bytes.toString('latin1', 0, 4) !== 'RIFF' || bytes.toString('latin1', 8, 12) !== 'WEBP') {
    return null
  }
  const kind = bytes.toString('latin1', 12, 16)
  if (kind === 'VP8 ') return { width: bytes.readUInt16LE(26) & 0x3fff, height: bytes.readUInt16LE(28) & 0x3fff }
  if (kind === 'VP8X') return { width: bytes.readUIntLE(24, 3) + 1, height: bytes.readUIntLE(27, 3) + 1 }
  if (kind !== 'VP8L') return null
  const bits = bytes.readUInt32LE(21)
  return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 }
}

/** APNG's control chunk stands before the pixels; a WebP file says it in the flags of its first chunk (RFC 9649). */
function isAnimated(bytes: Buffer): boolean {
  if (bytes.toString('latin1', 12, 16) === 'VP8X') return ((bytes[20] ?? 0) & 2) !== 0
  if (!sizeOfPng(bytes)) return false
  for (let at = 8; at + 8 <= bytes.length; at += 12 + bytes.readUInt32BE(at)) {
    const kind = bytes.toString('latin1', at + 4, at + 8)
    if (kind === 'acTL') return true
    if (kind === 'IDAT') return false
  }
  return false
}

/** A few kilobytes can decompress to gigabytes: sizes are read before anything is decoded. */
export type PictureLimits = {
  /** Name of the field that errors point to. */
  path: string
  /** Pixels: the largest width and height that is decoded, and the size that it is reduced to. */
  maxSide: number
  box: Size
}

/** Undefined: by its bytes neither PNG nor JPEG nor WebP. */
export const sizeOfPicture = (bytes: Buffer): Size | undefined =>
  sizeOfPng(bytes) ?? sizeOfJpeg(bytes) ?? sizeOfWebp(bytes) ?? undefined

/**
 * Redraws a stranger's picture as WebP: nothing of the file itself is kept, neither its metadata nor anything hidden
 * after the pixels.
 * @throws VALIDATION_FAILED at the field, BUSY
 */
export async function redrawPicture(bytes: Buffer, { path, maxSide, box }: PictureLimits): Promise<Buffer> {
  const size = sizeOfPicture(bytes)
  if (!size) throw invalid(path, 'must be a PNG, JPEG or WebP picture')
  const { width, height } = size
  if (width < 16 || height < 16 || width > maxSide || height > maxSide)
    throw invalid(path, `must be from 16 to ${maxSide} pixels wide and high, not ${width} × ${height}`)
  if (isAnimated(bytes)) throw invalid(path, 'must be a picture that does not move')
  const drawn = await drawApart(bytes, { size, box })
  if (drawn) return drawn
  throw invalid(path, 'cannot be read; save the picture again and send the new file')
}
