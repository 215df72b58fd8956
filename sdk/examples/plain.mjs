import { createServer } from 'node:http'
import { verifyWebhook } from '@comptoir/sdk'

/* A receiver without any framework. WEBHOOK_SECRET=whsec_… node plain.mjs */
const secret = process.env.WEBHOOK_SECRET ?? ''
const seen = new Set() // a table with a unique key in production

const server = createServer(async (request, response) => {
  // inside try: an upload that is cut off throws too, and must not end the program
  try {
    const chunks = []
    let size = 0
    for await (const chunk of request) {
      chunks.push(chunk)
      size += chunk.length
      if (size > 1_000_000) throw new Error('The body is too large.')
    }
    const webhook = await verifyWebhook(Buffer.concat(chunks), request.headers, secret)
    // a test event has the type 'test': what acts on 'order.paid' leaves it alone
    if (!seen.has(webhook.id)) console.log(`verified ${webhook.type} of order ${webhook.data.code}`)
    seen.add(webhook.id)
    response.writeHead(204).end()
  } catch (error) {
    response.writeHead(400).end(error.message)
  }
})
server.listen(Number(process.env.PORT ?? 4000), '127.0.0.1', () => console.log('listening'))
