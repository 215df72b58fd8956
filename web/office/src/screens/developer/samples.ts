/** Facts for the sample code: this installation, a till, and the reader's own key once there is one. */
export type Facts = { origin: string; till: string; key: { apiKey: string; apiSecret: string } | null }

const path = '/api/next/confirm_conversion/request'

/** Ready code that creates an order and prints its payment page. */
export const SAMPLES: Record<string, (facts: Facts) => string> = {
  curl: ({ origin, till, key }) => `curl ${origin}${path} \\
  -H "x-api-key: ${key?.apiKey ?? '$COMPTOIR_API_KEY'}" \\
  -H "x-api-secret: ${key?.apiSecret ?? '$COMPTOIR_API_SECRET'}" \\
  -H "idempotency-key: order-1001" -H "content-type: application/json" \\
  -d '{"amount":"12.50","fromAsset":"EUR","merchantIdentifier":"${till}"}'`,
  JavaScript: ({ origin, till, key }) => `const answer = await fetch('${origin}${path}', {
  method: 'POST',
  headers: {
    'x-api-key': ${key ? `'${key.apiKey}'` : 'process.env.COMPTOIR_API_KEY'},
    'x-api-secret': ${key ? `'${key.apiSecret}'` : 'process.env.COMPTOIR_API_SECRET'},
    'idempotency-key': 'order-1001',
    'content-type': 'application/json',
  },
  body: JSON.stringify({ amount: '12.50', fromAsset: 'EUR', merchantIdentifier: '${till}' }),
})
const { data } = await answer.json()
console.log(data.paymentUrl)`,
  PHP: ({ origin, till, key }) => `<?php
$call = curl_init('${origin}${path}');
curl_setopt_array($call, [
  CURLOPT_RETURNTRANSFER => true,
  CURLOPT_HTTPHEADER => [
    'x-api-key: ' . ${key ? `'${key.apiKey}'` : "getenv('COMPTOIR_API_KEY')"},
    'x-api-secret: ' . ${key ? `'${key.apiSecret}'` : "getenv('COMPTOIR_API_SECRET')"},
    'idempotency-key: order-1001',
    'content-type: application/json',
  ],
  CURLOPT_POSTFIELDS => json_encode(
    ['amount' => '12.50', 'fromAsset' => 'EUR', 'merchantIdentifier' => '${till}']
  ),
]);
echo json_decode(curl_exec($call))->data->paymentUrl;`,
  Python: ({ origin, till, key }) => `import json, os, urllib.request

call = urllib.request.Request(
    '${origin}${path}',
    data=json.dumps({'amount': '12.50', 'fromAsset': 'EUR', 'merchantIdentifier': '${till}'}).encode(),
    headers={
        'x-api-key': ${key ? `'${key.apiKey}'` : "os.environ['COMPTOIR_API_KEY']"},
        'x-api-secret': ${key ? `'${key.apiSecret}'` : "os.environ['COMPTOIR_API_SECRET']"},
        'idempotency-key': 'order-1001',
        'content-type': 'application/json',
    },
)
print(json.load(urllib.request.urlopen(call))['data']['paymentUrl'])`,
}

const NODE = `import { createHmac, timingSafeEqual } from 'node:crypto'

// rawBody: the bytes exactly as received; header: Service-Signature; secret: starts with whsec_
export function isGenuine(rawBody, header, secret) {
  const [, t, v1] = /^t=(\\d{1,12}),v1=([0-9a-f]{64})(,|$)/.exec(header ?? '') ?? []
  if (!v1 || Math.abs(Date.now() / 1000 - Number(t)) > 300) return false
  const expected = createHmac('sha256', secret).update(\`\${t}.\${rawBody}\`).digest()
  return timingSafeEqual(Buffer.from(v1, 'hex'), expected)
}`

/** How a receiver verifies a webhook, by the language of the sample above it. */
export const VERIFY: Record<string, string> = {
  curl: NODE,
  JavaScript: NODE,
  PHP: `<?php
// $rawBody: the bytes exactly as received; $header: Service-Signature; $secret: starts with whsec_
function isGenuine(string $rawBody, ?string $header, string $secret): bool
{
    if (!preg_match('/^t=(\\d{1,12}),v1=([0-9a-f]{64})(,|$)/', $header ?? '', $parts)) {
        return false;
    }
    if (abs(time() - (int) $parts[1]) > 300) {
        return false;
    }
    $expected = hash_hmac('sha256', $parts[1] . '.' . $rawBody, $secret);
    return hash_equals($expected, $parts[2]);
}`,
  Python: `import hashlib, hmac, re, time

# raw_body: the bytes exactly as received; header: Service-Signature; secret: starts with whsec_
def is_genuine(raw_body: bytes, header: str | None, secret: str) -> bool:
    parts = re.match(r't=([0-9]{1,12}),v1=([0-9a-f]{64})(,|$)', header or '')
    if parts is None or abs(time.time() - int(parts[1])) > 300:
        return False
    signed = parts[1].encode() + b'.' + raw_body
    expected = hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()
    return hmac.compare_digest(expected, parts[2])`,
}
