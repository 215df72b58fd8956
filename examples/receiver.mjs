import { createHmac, timingSafeEqual } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'

const { webhookSigningSecret } = JSON.parse(readFileSync('data/sandbox.json', 'utf8'))
// with an empty secret, anyone could sign
if (!webhookSigningSecret?.startsWith('whsec_')) throw new Error('no secret in data/sandbox.json')
createServer(async (request, response) => {
  const body = Buffer.concat(await request.toArray())
  const [, t, v1] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(request.headers['service-signature']) ?? []
  const expected = createHmac('sha256', webhookSigningSecret).update(`${t}.`).update(body).digest()
  const isSigned = v1 !== undefined && timingSafeEqual(expected, Buffer.from(v1, 'hex'))
  const isVerified = isSigned && Math.abs(Date.now() / 1000 - t) < 300
  response.writeHead(isVerified ? 200 : 400).end()
  // a test event is signed like any other, but no one paid it
  const isTest = isVerified && JSON.parse(body).test === true
  const verdict = isVerified ? 'verified' : 'refused'
  console.log(isTest ? `${verdict} test of` : verdict, request.headers['service-event'], `${body}`)
}).listen(4000)
