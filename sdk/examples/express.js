import express from 'express'
import { verifyWebhook } from '../webhooks.ts'

/* WEBHOOK_SECRET=whsec_… node express.js */
const app = express()

// express.raw, not express.json: the signature is over the bytes
app.post('/webhooks', express.raw({ type: 'application/json' }), async (request, response) => {
  try {
    const webhook = await verifyWebhook(request.body, request.get('Service-Signature'), process.env.WEBHOOK_SECRET)
    console.log(`verified ${webhook.event} of order ${webhook.code}`) // once per Service-Webhook-Id
    response.sendStatus(204)
  } catch (error) {
    response.status(400).send(error.message)
  }
})
app.listen(process.env.PORT ?? 4000, '127.0.0.1', () => console.log('listening'))
