/** Facts for the sample code: this installation, a till, and the reader's own key once there is one. */
export type Facts = { origin: string; till: string; key: { apiKey: string; apiSecret: string } | null }

const path = '/api/next/confirm_conversion/request'

/**
 * Ready code that creates an order and prints its payment page. Each run has a key of its own: under a fixed one, two
 * customers with the same price would get the same order.
 */
export const SAMPLES: Record<string, (facts: Facts) => string> = {
  curl: ({ origin, till, key }) => `# your own number of the order: sent again, it makes no second one
ORDER_NUMBER="test-$(date +%s)-$$"
curl ${origin}${path} \\
  -H "x-api-key: ${key?.apiKey ?? '$COMPTOIR_API_KEY'}" \\
  -H "x-api-secret: ${key?.apiSecret ?? '$COMPTOIR_API_SECRET'}" \\
  -H "idempotency-key: $ORDER_NUMBER" -H "content-type: application/json" \\
  -d '{"amount":"12.50","fromAsset":"EUR","merchantIdentifier":"${till}"}'`,
  JavaScript: ({ origin, till, key }) => `// your own number of the order: sent again, it makes no second one
const orderNumber = \`test-\${crypto.randomUUID()}\`
const answer = await fetch('${origin}${path}', {
  method: 'POST',
  headers: {
    'x-api-key': ${key ? `'${key.apiKey}'` : 'process.env.COMPTOIR_API_KEY'},
    'x-api-secret': ${key ? `'${key.apiSecret}'` : 'process.env.COMPTOIR_API_SECRET'},
    'idempotency-key': orderNumber,
    'content-type': 'application/json',
  },
  body: JSON.stringify({ amount: '12.50', fromAsset: 'EUR', merchantIdentifier: '${till}' }),
})
const { data } = await answer.json()
console.log(data.paymentUrl)`,
  PHP: ({ origin, till, key }) => `<?php
// your own number of the order: sent again, it makes no second one
$orderNumber = 'test-' . bin2hex(random_bytes(16));
$call = curl_init('${origin}${path}');
curl_setopt_array($call, [
  CURLOPT_RETURNTRANSFER => true,
  CURLOPT_HTTPHEADER => [
    'x-api-key: ' . ${key ? `'${key.apiKey}'` : "getenv('COMPTOIR_API_KEY')"},
    'x-api-secret: ' . ${key ? `'${key.apiSecret}'` : "getenv('COMPTOIR_API_SECRET')"},
    'idempotency-key: ' . $orderNumber,
    'content-type: application/json',
  ],
  CURLOPT_POSTFIELDS => json_encode(
    ['amount' => '12.50', 'fromAsset' => 'EUR', 'merchantIdentifier' => '${till}']
  ),
]);
echo json_decode(curl_exec($call))->data->paymentUrl;`,
  Python: ({ origin, till, key }) => `import json, os, urllib.request, uuid

# your own number of the order: sent again, it makes no second one
order_number = f'test-{uuid.uuid4()}'
call = urllib.request.Request(
    '${origin}${path}',
    data=json.dumps({'amount': '12.50', 'fromAsset': 'EUR', 'merchantIdentifier': '${till}'}).encode(),
    headers={
        'x-api-key': ${key ? `'${key.apiKey}'` : "os.environ['COMPTOIR_API_KEY']"},
        'x-api-secret': ${key ? `'${key.apiSecret}'` : "os.environ['COMPTOIR_API_SECRET']"},
        'idempotency-key': order_number,
        'content-type': 'application/json',
    },
)
print(json.load(urllib.request.urlopen(call))['data']['paymentUrl'])`,
}
