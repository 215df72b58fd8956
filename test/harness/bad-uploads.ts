import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { waitFor } from './receiver.ts'

/* What a stranger may send to the address that receives webhooks. */

const HEAD = 'POST / HTTP/1.1\r\nhost: shop.example\r\ncontent-type: application/json\r\n'
/** Well above any webhook, and what the sockets' buffers take besides. */
const MOST_BYTES = 20_000_000

async function open(port: number | string, head: string): Promise<Socket> {
  const socket = connect(Number(port), '127.0.0.1').on('error', () => {})
  await once(socket, 'connect')
  socket.write(HEAD + head)
  return socket
}

/** A program that says nothing when it is ready. */
export const eventuallyListens = (port: number): Promise<void> =>
  waitFor('the receiver', () =>
    fetch(`http://127.0.0.1:${port}/`).then(
      () => true,
      () => false,
    ),
  )

/** Begins a body and closes the connection; then sends one without an end, which must be cut off. */
export async function sendBadUploads(port: number | string): Promise<void> {
  const cut = await open(port, 'content-length: 1000\r\n\r\n{"code"')
  setTimeout(() => cut.destroy(), 100)
  await once(cut, 'close')

  const endless = await open(port, 'transfer-encoding: chunked\r\n\r\n')
  const chunk = `10000\r\n${'a'.repeat(0x10000)}\r\n`
  let bytes = 0
  while (!endless.destroyed && bytes < MOST_BYTES) {
    bytes += chunk.length
    if (!endless.write(chunk)) await Promise.race([once(endless, 'drain'), once(endless, 'close')]).catch(() => {})
  }
  const isRefused = endless.destroyed
  endless.destroy()
  assert.ok(isRefused, 'an endless upload is read on')
}
