import { createHash } from 'node:crypto'
import type { FastifyReply } from 'fastify'

/** For a Content-Security-Policy. */
export const hashOf = (text: string): string => `'sha256-${createHash('sha256').update(text).digest('base64')}'`

/**
 * Lets this website, and no other, show the answer in a frame. The Content-Security-Policy is the caller's; the older
 * header knows no list of websites, so it goes.
 */
export function allowFrame(reply: FastifyReply): void {
  void reply.removeHeader('x-frame-options').header('cross-origin-resource-policy', 'cross-origin')
}
