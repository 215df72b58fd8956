import type { Socket } from 'node:net'

const CONTINUE = Buffer.from('HTTP/1.1 100')
const INTERIM = Buffer.from('HTTP/1.1 1')
const END = '\r\n\r\n'

/** Rewrites each `100 Continue` before the answer to `103 Early Hints`; all other bytes pass unchanged. */
function renameContinue(chunk: Buffer): boolean {
  let at = 0
  while (chunk.subarray(at, at + INTERIM.length).equals(INTERIM)) {
    if (chunk.subarray(at, at + CONTINUE.length).equals(CONTINUE)) chunk[at + CONTINUE.length - 1] = 0x33
    const end = chunk.indexOf(END, at)
    if (end === -1) return true
    at = end + END.length
  }
  return at === chunk.length
}

/**
 * A server may send an unsolicited `100 Continue` before its answer (RFC 9110, 15.2). undici skips the other interim
 * responses but treats this one as a broken connection, so we show it another one instead.
 */
export function acceptContinue(socket: Socket): void {
  const { read, write } = socket
  let isAwaiting = true
  socket.write = ((...given: Parameters<typeof write>) => {
    isAwaiting = true
    return write.apply(socket, given)
  }) as typeof write
  socket.read = (size?: number) => {
    const chunk: unknown = read.call(socket, size)
    if (isAwaiting && Buffer.isBuffer(chunk)) isAwaiting = renameContinue(chunk)
    return chunk
  }
}
