import Fastify from 'fastify'
import { verifyWebhook } from '../webhooks.ts'

/* WEBHOOK_SECRET=whsec_… node fastify.ts */
const app = Fastify()

// the signature is over the bytes, so they are kept as they came
app.removeContentTypeParser('application/json')
app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))

app.post<{ Body: Buffer }>('/webhooks', async (request, reply) => {
  try {
    const header = String(request.headers['service-signature'])
    const webhook = await verifyWebhook(request.body, header, process.env.WEBHOOK_SECRET ?? '')
    console.log(`verified ${webhook.event} of order ${webhook.code}`) // once per Service-Webhook-Id
    return reply.code(204).send()
  } catch (error) {
    return reply.code(400).send((error as Error).message)
  }
})
await app.listen({ port: Number(process.env.PORT ?? 4000), host: '127.0.0.1' })
console.log('listening')
