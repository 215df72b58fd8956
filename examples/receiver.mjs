import { createHmac, timingSafeEqual } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'

const { webhookSigningSecret } = JSON.parse(readFileSync('data/sandbox.json', 'utf8'))
// with an empty secret, anyone could sign
if (!webhookSigningSecret?.startsWith('whsec_')) throw new Error('no secret in data/sandbox.json')
createServer(async (request, response) => {
  // inside try: an upload that is cut off throws too, and must not end the program
  try {
    const chunks = []
    let size = 0
    for await (const chunk of request) {
      chunks.push(chunk)
      size += chunk.length
      if (size > 1_000_000) throw new Error('The body is too large.')
    }
    const body = Buffer.concat(chunks)
    const [, t, v1] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(request.headers['service-signature']) ?? []
    const expected = createHmac('sha256', webhookSigningSecret).update(`${t}.`).update(body).digest()
    const isSigned = v1 !== undefined && timingSafeEqual(expected, Buffer.from(v1, 'hex'))
    if (!isSigned || Math.abs(Date.now() / 1000 - t) > 300) throw new Error('It is forged or old.')
    // a test event is signed like any other, but no one paid it
    const verdict = JSON.parse(body).test === true ? 'verified test of' : 'verified'
    console.log(verdict, request.headers['service-event'], `${body}`)
    response.writeHead(200).end()
  } catch (error) {
    console.log('refused', error.message)
    response.writeHead(400).end()
  }
}).listen(4000)
