/** Ready code against this installation; the keys are filled in by the reader, never by us. */
export const SAMPLES: Record<string, (origin: string, till: string) => string> = {
  curl: (origin, till) => `curl ${origin}/api/next/confirm_conversion/request \\
  -H "x-api-key: $COMPTOIR_API_KEY" -H "x-api-secret: $COMPTOIR_API_SECRET" \\
  -H "idempotency-key: order-1001" -H "content-type: application/json" \\
  -d '{"amount":"12.50","fromAsset":"EUR","merchantIdentifier":"${till}"}'`,
  JavaScript: (origin, till) => `const answer = await fetch('${origin}/api/next/confirm_conversion/request', {
  method: 'POST',
  headers: {
    'x-api-key': process.env.COMPTOIR_API_KEY,
    'x-api-secret': process.env.COMPTOIR_API_SECRET,
    'idempotency-key': 'order-1001',
    'content-type': 'application/json',
  },
  body: JSON.stringify({ amount: '12.50', fromAsset: 'EUR', merchantIdentifier: '${till}' }),
})
const { data } = await answer.json()
console.log(data.paymentUrl)`,
  PHP: (origin, till) => `<?php
$call = curl_init('${origin}/api/next/confirm_conversion/request');
curl_setopt_array($call, [
  CURLOPT_RETURNTRANSFER => true,
  CURLOPT_HTTPHEADER => [
    'x-api-key: ' . getenv('COMPTOIR_API_KEY'),
    'x-api-secret: ' . getenv('COMPTOIR_API_SECRET'),
    'idempotency-key: order-1001',
    'content-type: application/json',
  ],
  CURLOPT_POSTFIELDS => json_encode(
    ['amount' => '12.50', 'fromAsset' => 'EUR', 'merchantIdentifier' => '${till}']
  ),
]);
echo json_decode(curl_exec($call))->data->paymentUrl;`,
  Python: (origin, till) => `import json, os, urllib.request

call = urllib.request.Request(
    '${origin}/api/next/confirm_conversion/request',
    data=json.dumps({'amount': '12.50', 'fromAsset': 'EUR', 'merchantIdentifier': '${till}'}).encode(),
    headers={
        'x-api-key': os.environ['COMPTOIR_API_KEY'],
        'x-api-secret': os.environ['COMPTOIR_API_SECRET'],
        'idempotency-key': 'order-1001',
        'content-type': 'application/json',
    },
)
print(json.load(urllib.request.urlopen(call))['data']['paymentUrl'])`,
}

export const VERIFY = `import { createHmac, timingSafeEqual } from 'node:crypto'

// rawBody: the bytes exactly as received; secret: starts with whsec_
export function isGenuine(rawBody, header, secret) {
  const { t, v1 } = Object.fromEntries(header.split(',').map((part) => part.split('=')))
  if (Math.abs(Date.now() / 1000 - Number(t)) > 300) return false
  const expected = createHmac('sha256', secret).update(\`\${t}.\${rawBody}\`).digest()
  const given = Buffer.from(v1, 'hex')
  return given.length === expected.length && timingSafeEqual(given, expected)
}`
