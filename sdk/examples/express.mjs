import { verifyWebhook } from '@comptoir/sdk'
import express from 'express'

/* WEBHOOK_SECRET=whsec_… node express.mjs */
const app = express()

// express.raw, not express.json: the signature is over the bytes
app.post('/webhooks', express.raw({ type: 'application/json' }), async (request, response) => {
  try {
    const webhook = await verifyWebhook(request.body, request.headers, process.env.WEBHOOK_SECRET)
    // a test event has the type 'test': what acts on 'order.paid' leaves it alone
    console.log(`verified ${webhook.type} of order ${webhook.data.code}`) // once per webhook.id
    response.sendStatus(204)
  } catch (error) {
    response.status(400).send(error.message)
  }
})
app.listen(process.env.PORT ?? 4000, '127.0.0.1', () => console.log('listening'))
