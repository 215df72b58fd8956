import { verifyWebhook } from '@comptoir/sdk'
import Fastify from 'fastify'

/* WEBHOOK_SECRET=whsec_… node fastify.mjs */
const app = Fastify()

// the signature covers the bytes, so they are kept unparsed
app.removeContentTypeParser('application/json')
app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))

app.post('/webhooks', async (request, reply) => {
  try {
    const webhook = await verifyWebhook(request.body, request.headers, process.env.WEBHOOK_SECRET ?? '')
    // a test event has the type 'test': what acts on 'order.paid' leaves it alone
    console.log(`verified ${webhook.type} of order ${webhook.data.code}`) // once per webhook.id
    return reply.code(204).send()
  } catch (error) {
    return reply.code(400).send(error.message)
  }
})
await app.listen({ port: Number(process.env.PORT ?? 4000), host: '127.0.0.1' })
console.log('listening')
