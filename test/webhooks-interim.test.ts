import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { test } from 'node:test'
import { AttemptSender } from '../src/webhooks/sender/attempt.ts'
import { createWebhookAgent } from '../src/webhooks/sender/connector.ts'

/** Answers every request with these bytes, over one connection as long as it is kept. */
async function answerWith(bytes: string, tries = 2): Promise<{ codes: (number | null)[]; failures: unknown[] }> {
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.on('data', () => socket.write(bytes))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const sender = new AttemptSender(createWebhookAgent({ allowedRanges: ['127.0.0.0/8'] }))
  try {
    const results = []
    for (let index = 0; index < tries; index += 1) {
      const headers = ['content-type', 'application/json']
      results.push(await sender.send({ url: `http://127.0.0.1:${port}/`, headers, body: '{}' }))
    }
    return { codes: results.map(({ statusCode }) => statusCode), failures: results.map(({ failure }) => failure) }
  } finally {
    await sender.close()
    server.close()
  }
}

const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'
const REFUSED = 'HTTP/1.1 500 No\r\ncontent-length: 0\r\n\r\n'
const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n'
const HINTS = 'HTTP/1.1 103 Early Hints\r\nlink: </style.css>; rel=preload\r\n\r\n'

for (const [name, interim] of [
  ['100', CONTINUE],
  ['103', HINTS],
  ['100, 103 and 100', CONTINUE + HINTS + CONTINUE],
] as const) {
  test(`an interim ${name} before a webhook's answer is no failure, also on a kept connection`, async () => {
    assert.deepEqual(await answerWith(interim + OK), { codes: [200, 200], failures: [null, null] })
  })
  test(`an interim ${name} is no success either: the answer after it counts`, async () => {
    assert.deepEqual((await answerWith(interim + REFUSED)).codes, [500, 500])
  })
}
