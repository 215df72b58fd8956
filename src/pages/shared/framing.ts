import { createHash } from 'node:crypto'
import type { FastifyReply } from 'fastify'

/** For a Content-Security-Policy. */
export const hashOf = (text: string): string => `'sha256-${createHash('sha256').update(text).digest('base64')}'`

/**
 * Lets this website, and no other, frame the response. The caller sets the Content-Security-Policy; the older header
 * supports no list of websites, so it is removed.
 */
export function allowFrame(reply: FastifyReply): void {
  void reply.removeHeader('x-frame-options').header('cross-origin-resource-policy', 'cross-origin')
}
