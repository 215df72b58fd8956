import { createHmac, timingSafeEqual } from 'node:crypto'

/** True if the bytes were signed with this secret within the tolerance. */
export function verifyWebhook(rawBody, header, secret, toleranceSeconds = 300) {
  const parts = (header ?? '').split(',').map((part) => part.trim().split('='))
  const time = parts.find(([name, value]) => name === 't' && /^\d{1,12}$/.test(value))?.[1]
  const signatures = parts.filter(([name, value]) => name === 'v1' && /^[0-9a-f]{64}$/.test(value))
  // with an empty secret, anyone could sign
  if (time === undefined || !secret?.startsWith('whsec_') || secret.length < 30) return false
  const expected = createHmac('sha256', secret).update(`${time}.`).update(rawBody).digest()
  const isSigned = signatures.some(([, value]) => timingSafeEqual(Buffer.from(value, 'hex'), expected))
  return isSigned && Math.abs(Date.now() / 1000 - Number(time)) <= toleranceSeconds
}

// ---- from the command line: SIGNATURE='t=…,v1=…' WEBHOOK_SECRET=whsec_… node verify.js < body
if (process.argv[1] === import.meta.filename) {
  const { readFileSync } = await import('node:fs')
  const good = verifyWebhook(readFileSync(0), process.env.SIGNATURE, process.env.WEBHOOK_SECRET)
  console.log(good ? 'verified' : 'refused')
}
