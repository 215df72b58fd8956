import { createHash } from 'node:crypto'
import { invalid } from '../../kernel/errors.ts'
import { redrawPicture, sizeOfPicture } from '../../kernel/pictures/picture.ts'
import { Type } from '../../kernel/schema.ts'

const MAX_BYTES = 1_000_000
/** Size of the request body: base64 in JSON makes the file a third larger. */
export const PROOF_BODY_BYTES = 1_400_000
/** Large enough for small print to stay legible. */
const BOX = { width: 2400, height: 2400 }

/** Longer than the limit for files, so that the error for a file that is too large is about files. */
export const ProofText = Type.String({
  minLength: 1,
  maxLength: 2 * PROOF_BODY_BYTES,
  pattern: '^[A-Za-z0-9+/]+={0,2}$',
  description: 'PNG, JPEG, WebP or PDF in base64, at most 1 MB.',
})

export type ProofFile = {
  mime: 'image/webp' | 'application/pdf'
  bytes: Buffer
  sha256: string
  /** Hash of the file as it was sent; for a PDF the same as `sha256`. */
  sentSha256: string
}

/** The facts about a file that go to the audit log. */
export const proofAuditFacts = ({ mime, bytes, sha256, sentSha256 }: ProofFile) => ({
  ...{ mime, size: bytes.length, sha256, sentSha256 },
})

const hashOf = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')

/** A PDF has its end marker in the last kilobyte (ISO 32000, annex H); a truncated one is unreadable. */
const isPdf = (bytes: Buffer): boolean =>
  bytes.toString('latin1', 0, 5) === '%PDF-' && bytes.subarray(-1024).includes('%%EOF')

/**
 * Decodes a base64 file and detects its type from its bytes, never from its name or declared type. Pictures are
 * redrawn; a PDF is stored as it is.
 * @throws VALIDATION_FAILED at `path`
 */
export async function readProof(base64: string, path: string): Promise<ProofFile> {
  const sent = Buffer.from(base64, 'base64')
  if (sent.length > MAX_BYTES) throw invalid(path, 'must be at most 1 MB; send a smaller picture or fewer pages')
  const sentSha256 = hashOf(sent)
  if (isPdf(sent)) return { mime: 'application/pdf', bytes: sent, sha256: sentSha256, sentSha256 }
  if (!sizeOfPicture(sent)) throw invalid(path, 'must be a PNG, JPEG or WebP picture, or a whole PDF')
  const bytes = await redrawPicture(sent, { path, maxSide: 3000, box: BOX })
  return { mime: 'image/webp', bytes, sha256: hashOf(bytes), sentSha256 }
}
