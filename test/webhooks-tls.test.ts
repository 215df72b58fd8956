import assert from 'node:assert/strict'
import { createServer } from 'node:https'
import { after, before, test } from 'node:test'
import type { TLSSocket } from 'node:tls'
import { AttemptSender } from '../src/webhooks/sender/attempt.ts'
import { createWebhookAgent } from '../src/webhooks/sender/connector.ts'
import { type Certificate, makeCertificate } from './harness/certificates.ts'
import { type Receiver, startReceiver } from './harness/receiver.ts'

const receivers: Receiver[] = []
let authority: Certificate

before(() => {
  authority = makeCertificate({ name: 'Test authority' })
})

after(() => Promise.all(receivers.map((receiver) => receiver.close())))

async function startTls(certificate: Certificate): Promise<Receiver> {
  const receiver = await startReceiver(createServer({ cert: certificate.cert, key: certificate.keyPem }))
  receivers.push(receiver)
  return receiver
}

const newSender = (ca?: string): AttemptSender =>
  new AttemptSender(
    createWebhookAgent({
      allowedRanges: ['127.0.0.0/8'],
      resolve: async () => [{ address: '127.0.0.1', family: 4 }],
      ...(ca === undefined ? {} : { ca }),
    }),
  )

const message = { headers: ['content-type', 'application/json'], body: '{}' }

test('expired, for another host, signed by itself, and by nobody known: each fails with its own code and sends nothing', async () => {
  const host = 'shop.example'
  const issuer = authority
  const cases: [Certificate, string][] = [
    [
      makeCertificate({ name: host, hosts: [host], issuer, notAfter: new Date(Date.now() - 3_600_000) }),
      'tls_certificate_expired',
    ],
    [makeCertificate({ name: 'other.example', hosts: ['other.example'], issuer }), 'tls_wrong_host'],
    [makeCertificate({ name: host, hosts: [host] }), 'tls_untrusted'],
    [
      makeCertificate({ name: host, hosts: [host], issuer: makeCertificate({ name: 'Unknown authority' }) }),
      'tls_untrusted',
    ],
  ]
  const sender = newSender(authority.cert)
  for (const [certificate, code] of cases) {
    const receiver = await startTls(certificate)
    const { failure } = await sender.send({ url: `https://${host}:${receiver.port}/`, ...message })
    assert.equal(failure, code)
    assert.equal(receiver.received.length, 0)
  }
  await sender.close()
})

test('a good certificate is accepted, its connection kept, and its TLS session used again', async () => {
  const receiver = await startTls(makeCertificate({ name: 'shop.example', hosts: ['shop.example'], issuer: authority }))
  const sockets = new Set<TLSSocket>()
  let resumed = 0
  receiver.answer('/', (_request, response, raw) => {
    const socket = raw.socket as TLSSocket
    if (!sockets.has(socket) && socket.isSessionReused()) resumed += 1
    sockets.add(socket)
    response.writeHead(204).end()
  })
  receiver.answer('/last', (_request, response) => response.writeHead(204, { connection: 'close' }).end())
  const sender = newSender(authority.cert)
  const url = `https://shop.example:${receiver.port}`
  for (const path of ['/', '/', '/', '/last', '/']) {
    assert.equal((await sender.send({ url: url + path, ...message })).failure, null)
  }
  assert.equal(sockets.size, 2)
  assert.equal(resumed, 1)
  await sender.close()
})
