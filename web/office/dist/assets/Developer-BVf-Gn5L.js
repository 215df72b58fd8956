import{$t as e,Dt as t,K as n,S as r,St as i,X as a,Xt as o,Zt as s,b as c,ct as l,g as u,l as d,mt as f,pt as p,v as m}from"./fields-4ejYlKlu.js";import{n as h,s as g}from"./company-jSJVza0k.js";import{t as _}from"./TestEvent-C8XfsKwi.js";var v=e(s(),1),y=`/api/next/confirm_conversion/request`,b={curl:({origin:e,till:t,key:n})=>`# your own number of the order: sent again, it makes no second one
ORDER_NUMBER="test-$(date +%s)-$$"
curl ${e}${y} \\
  -H "x-api-key: ${n?.apiKey??`$COMPTOIR_API_KEY`}" \\
  -H "x-api-secret: ${n?.apiSecret??`$COMPTOIR_API_SECRET`}" \\
  -H "idempotency-key: $ORDER_NUMBER" -H "content-type: application/json" \\
  -d '{"amount":"12.50","fromAsset":"EUR","merchantIdentifier":"${t}"}'`,JavaScript:({origin:e,till:t,key:n})=>`// your own number of the order: sent again, it makes no second one
const orderNumber = \`test-\${crypto.randomUUID()}\`
const answer = await fetch('${e}${y}', {
  method: 'POST',
  headers: {
    'x-api-key': ${n?`'${n.apiKey}'`:`process.env.COMPTOIR_API_KEY`},
    'x-api-secret': ${n?`'${n.apiSecret}'`:`process.env.COMPTOIR_API_SECRET`},
    'idempotency-key': orderNumber,
    'content-type': 'application/json',
  },
  body: JSON.stringify({ amount: '12.50', fromAsset: 'EUR', merchantIdentifier: '${t}' }),
})
const { data } = await answer.json()
console.log(data.paymentUrl)`,PHP:({origin:e,till:t,key:n})=>`<?php
// your own number of the order: sent again, it makes no second one
$orderNumber = 'test-' . bin2hex(random_bytes(16));
$call = curl_init('${e}${y}');
curl_setopt_array($call, [
  CURLOPT_RETURNTRANSFER => true,
  CURLOPT_HTTPHEADER => [
    'x-api-key: ' . ${n?`'${n.apiKey}'`:`getenv('COMPTOIR_API_KEY')`},
    'x-api-secret: ' . ${n?`'${n.apiSecret}'`:`getenv('COMPTOIR_API_SECRET')`},
    'idempotency-key: ' . $orderNumber,
    'content-type: application/json',
  ],
  CURLOPT_POSTFIELDS => json_encode(
    ['amount' => '12.50', 'fromAsset' => 'EUR', 'merchantIdentifier' => '${t}']
  ),
]);
echo json_decode(curl_exec($call))->data->paymentUrl;`,Python:({origin:e,till:t,key:n})=>`import json, os, urllib.request, uuid

# your own number of the order: sent again, it makes no second one
order_number = f'test-{uuid.uuid4()}'
call = urllib.request.Request(
    '${e}${y}',
    data=json.dumps({'amount': '12.50', 'fromAsset': 'EUR', 'merchantIdentifier': '${t}'}).encode(),
    headers={
        'x-api-key': ${n?`'${n.apiKey}'`:`os.environ['COMPTOIR_API_KEY']`},
        'x-api-secret': ${n?`'${n.apiSecret}'`:`os.environ['COMPTOIR_API_SECRET']`},
        'idempotency-key': order_number,
        'content-type': 'application/json',
    },
)
print(json.load(urllib.request.urlopen(call))['data']['paymentUrl'])`},x=n({title:`Your first order`,lead:`From a key to a paid order and its webhook, with code you can paste and run.`,docs:`Documentation`,reference:`API reference`,one:`1. Make an API key`,oneText:`Your server sends it with each call. Make one here and the code below carries it.`,oneDone:e=>`The code below carries the key ${e} and its secret. The secret is shown only now: copy the code before you leave.`,make:`Make a key for this code`,keyName:`First order`,keys:`API keys`,two:`2. Create an order`,twoText:`The answer names the payment page. Show it to the customer as a link or as a code to scan.`,three:`3. Pay it and watch`,threeText:`Open the payment page and pay. In the sandbox the money is play money. The order, and each call your code made, show up here at once.`,orders:`Orders`,requests:`Requests`,four:`4. Receive the webhook`,fourText:`Check the signature, answer 2xx within ten seconds, and act once for each Service-Webhook-Id.`,secret:`Signing secret`},{fr:{title:`Votre première commande`,lead:`D’une clé à une commande payée et son webhook, avec du code à coller et à lancer.`,docs:`Documentation`,reference:`Référence de l’API`,one:`1. Créez une clé d’API`,oneText:`Votre serveur la joint à chaque appel. Créez-en une ici : le code ci-dessous la contiendra.`,oneDone:e=>`Le code ci-dessous contient la clé ${e} et son secret. Le secret n’est affiché que maintenant : copiez le code avant de quitter la page.`,make:`Créer une clé pour ce code`,keyName:`Première commande`,keys:`Clés d’API`,two:`2. Créez une commande`,twoText:`La réponse indique la page de paiement. Montrez-la au client, en lien ou en code à scanner.`,three:`3. Payez et observez`,threeText:`Ouvrez la page de paiement et payez. Dans le bac à sable, l’argent est fictif. La commande et chaque appel de votre code apparaissent aussitôt ici.`,orders:`Commandes`,requests:`Requêtes`,four:`4. Recevez le webhook`,fourText:`Vérifiez la signature, répondez 2xx sous dix secondes et n’agissez qu’une fois par Service-Webhook-Id.`,secret:`Secret de signature`},de:{title:`Ihre erste Bestellung`,lead:`Vom Schlüssel zur bezahlten Bestellung und ihrem Webhook, mit Code zum Einfügen und Ausführen.`,docs:`Dokumentation`,reference:`API-Referenz`,one:`1. API-Schlüssel anlegen`,oneText:`Ihr Server sendet ihn bei jedem Aufruf mit. Legen Sie hier einen an, dann steht er im Code darunter.`,oneDone:e=>`Der Code darunter enthält den Schlüssel ${e} und sein Geheimnis. Es wird nur jetzt gezeigt: Kopieren Sie den Code, bevor Sie die Seite verlassen.`,make:`Schlüssel für diesen Code anlegen`,keyName:`Erste Bestellung`,keys:`API-Schlüssel`,two:`2. Bestellung anlegen`,twoText:`Die Antwort nennt die Zahlungsseite. Zeigen Sie sie als Link oder als Code zum Scannen.`,three:`3. Bezahlen und zusehen`,threeText:`Öffnen Sie die Zahlungsseite und bezahlen Sie. In der Sandbox ist es Spielgeld. Die Bestellung und jeder Aufruf Ihres Codes erscheinen hier sofort.`,orders:`Bestellungen`,requests:`Anfragen`,four:`4. Webhook empfangen`,fourText:`Prüfen Sie die Signatur, antworten Sie binnen zehn Sekunden mit 2xx, handeln Sie je Service-Webhook-Id einmal.`,secret:`Signaturgeheimnis`},es:{title:`Su primer pedido`,lead:`De una clave a un pedido pagado y su webhook, con código para pegar y ejecutar.`,docs:`Documentación`,reference:`Referencia de la API`,one:`1. Cree una clave de API`,oneText:`Su servidor la envía en cada llamada. Cree una aquí y el código de abajo la llevará.`,oneDone:e=>`El código de abajo lleva la clave ${e} y su secreto. El secreto solo se muestra ahora: copie el código antes de salir.`,make:`Crear una clave para este código`,keyName:`Primer pedido`,keys:`Claves de API`,two:`2. Cree un pedido`,twoText:`La respuesta indica la página de pago. Muéstrela al cliente como enlace o como código para escanear.`,three:`3. Pague y observe`,threeText:`Abra la página de pago y pague. En el entorno de pruebas el dinero es ficticio. El pedido y cada llamada de su código aparecen aquí enseguida.`,orders:`Pedidos`,requests:`Solicitudes`,four:`4. Reciba el webhook`,fourText:`Compruebe la firma, responda 2xx en diez segundos y actúe una vez por cada Service-Webhook-Id.`,secret:`Secreto de firma`},it:{title:`Il suo primo ordine`,lead:`Da una chiave a un ordine pagato e al suo webhook, con codice da incollare ed eseguire.`,docs:`Documentazione`,reference:`Riferimento dell’API`,one:`1. Crei una chiave API`,oneText:`Il suo server la invia a ogni chiamata. Ne crei una qui: il codice sotto la conterrà.`,oneDone:e=>`Il codice sotto contiene la chiave ${e} e il suo segreto. Il segreto si vede solo adesso: copi il codice prima di uscire.`,make:`Crea una chiave per questo codice`,keyName:`Primo ordine`,keys:`Chiavi API`,two:`2. Crei un ordine`,twoText:`La risposta indica la pagina di pagamento. La mostri al cliente come link o come codice da inquadrare.`,three:`3. Paghi e osservi`,threeText:`Apra la pagina di pagamento e paghi. Nella sandbox il denaro è finto. L’ordine e ogni chiamata del suo codice compaiono subito qui.`,orders:`Ordini`,requests:`Richieste`,four:`4. Riceva il webhook`,fourText:`Verifichi la firma, risponda 2xx entro dieci secondi e agisca una volta per ogni Service-Webhook-Id.`,secret:`Segreto di firma`}}),S=`import { createHmac, timingSafeEqual } from 'node:crypto'

/** True if the bytes were signed with this secret within the tolerance. */
export function verifyWebhook(rawBody, header, secret, toleranceSeconds = 300) {
  const parts = (header ?? '').split(',').map((part) => part.trim().split('='))
  const time = parts.find(([name, value]) => name === 't' && /^\\d{1,12}$/.test(value))?.[1]
  const signatures = parts.filter(([name, value]) => name === 'v1' && /^[0-9a-f]{64}$/.test(value))
  // with an empty secret, anyone could sign
  if (time === undefined || !secret?.startsWith('whsec_') || secret.length < 30) return false
  const expected = createHmac('sha256', secret).update(\`\${time}.\`).update(rawBody).digest()
  const isSigned = signatures.some(([, value]) => timingSafeEqual(Buffer.from(value, 'hex'), expected))
  return isSigned && Math.abs(Date.now() / 1000 - Number(time)) <= toleranceSeconds
}

// ---- from the command line: SIGNATURE='t=…,v1=…' WEBHOOK_SECRET=whsec_… node verify.js < body
if (process.argv[1] === import.meta.filename) {
  const { readFileSync } = await import('node:fs')
  const good = verifyWebhook(readFileSync(0), process.env.SIGNATURE, process.env.WEBHOOK_SECRET)
  console.log(good ? 'verified' : 'refused')
}
`,C=`<?php
/** True if the bytes were signed with this secret within the tolerance. */
function verifyWebhook(string $rawBody, ?string $header, string $secret, int $toleranceSeconds = 300): bool
{
    $time = null;
    $signatures = [];
    foreach (explode(',', $header ?? '') as $part) {
        [$name, $value] = array_pad(explode('=', trim($part), 2), 2, '');
        if ($name === 't' && ctype_digit($value)) {
            $time = $value;
        }
        if ($name === 'v1') {
            $signatures[] = $value;
        }
    }
    // with an empty secret, anyone could sign
    if ($time === null || !str_starts_with($secret, 'whsec_') || strlen($secret) < 30) {
        return false;
    }
    $expected = hash_hmac('sha256', $time . '.' . $rawBody, $secret);
    $isSigned = false;
    foreach ($signatures as $signature) {
        $isSigned = hash_equals($expected, $signature) || $isSigned;
    }
    return $isSigned && abs(time() - (int) $time) <= $toleranceSeconds;
}

// On a web server: $rawBody = file_get_contents('php://input'); $header = $_SERVER['HTTP_SERVICE_SIGNATURE'] ?? null;
// ---- from the command line: SIGNATURE='t=…,v1=…' WEBHOOK_SECRET=whsec_… php verify.php < body
if (PHP_SAPI === 'cli') {
    $body = file_get_contents('php://stdin');
    $good = verifyWebhook($body, getenv('SIGNATURE') ?: null, (string) getenv('WEBHOOK_SECRET'));
    echo $good ? "verified\\n" : "refused\\n";
}
`,w=`import hashlib
import hmac
import time


def verify_webhook(raw_body: bytes, header: "str | None", secret: str, tolerance_seconds: int = 300) -> bool:
    """True if the bytes were signed with this secret within the tolerance."""
    parts = [part.strip().split("=", 1) for part in (header or "").split(",") if "=" in part]
    times = [value for name, value in parts if name == "t" and value.isdigit()]
    signatures = [value for name, value in parts if name == "v1"]
    # with an empty secret, anyone could sign
    if not times or not secret.startswith("whsec_") or len(secret) < 30:
        return False
    expected = hmac.new(secret.encode(), times[0].encode() + b"." + raw_body, hashlib.sha256).hexdigest()
    is_signed = any(hmac.compare_digest(expected.encode(), signature.encode()) for signature in signatures)
    return is_signed and abs(time.time() - int(times[0])) <= tolerance_seconds


# ---- from the command line: SIGNATURE='t=…,v1=…' WEBHOOK_SECRET=whsec_… python3 verify.py < body
if __name__ == "__main__":
    import os
    import sys

    good = verify_webhook(sys.stdin.buffer.read(), os.environ.get("SIGNATURE"), os.environ.get("WEBHOOK_SECRET", ""))
    print("verified" if good else "refused")
`,T=/^(\/\/|#) ---- from the command line/m;function E(e){let[t=``,n]=e.split(T);if(n===void 0)throw Error(`no line says where the part for the command line begins`);return`${t.trimEnd()}\n`}var D=Object.fromEntries(Object.entries({curl:S,JavaScript:S,PHP:C,Python:w}).map(([e,t])=>[e,E(t)])),O=o();function k(){let e=a(x);return(0,O.jsx)(m,{title:e.title,lead:e.lead,actions:(0,O.jsxs)(O.Fragment,{children:[(0,O.jsx)(`a`,{className:`btn`,href:`/docs`,target:`_blank`,rel:`noreferrer`,children:e.docs}),(0,O.jsx)(`a`,{className:`btn`,href:`/docs/api`,target:`_blank`,rel:`noreferrer`,children:e.reference})]}),children:(0,O.jsx)(h,{children:()=>(0,O.jsx)(A,{})})})}function A(){let e=a(x),n=l(),r=g(),[i,o]=(0,v.useState)(`curl`),[s,u]=(0,v.useState)(null),d=f(`GET /api/next/collectors/list`,{query:{...r,limit:1,active:!0}},{enabled:n(`tills.read`)}).data?.collectors[0]?.identifier??`TILL-1`;return(0,O.jsxs)(O.Fragment,{children:[(0,O.jsx)(c,{title:e.one,children:(0,O.jsx)(j,{made:s,onMade:u})}),(0,O.jsxs)(c,{title:e.two,children:[(0,O.jsx)(`p`,{className:`mb-3`,children:e.twoText}),(0,O.jsx)(M,{chosen:i,onChoose:o}),(0,O.jsx)(N,{code:b[i]?.({origin:location.origin,till:d,key:s})??``})]}),(0,O.jsxs)(c,{title:e.three,children:[(0,O.jsx)(`p`,{className:`mb-3`,children:e.threeText}),(0,O.jsxs)(`div`,{className:`flex flex-wrap gap-2`,children:[(0,O.jsx)(t,{to:`/orders`,className:`btn`,children:e.orders}),(0,O.jsx)(t,{to:`/requests`,className:`btn`,children:e.requests})]})]}),(0,O.jsxs)(c,{title:e.four,children:[(0,O.jsx)(`p`,{className:`mb-3`,children:e.fourText}),(0,O.jsx)(N,{code:D[i]??``}),(0,O.jsx)(t,{to:`/webhooks`,className:`btn`,children:e.secret})]}),n(`webhooks.test`)&&(0,O.jsx)(_,{})]})}function j({made:e,onMade:n}){let o=a(x),s=l(),c=g(),d=p({run:()=>i(`POST /api/next/api-keys`,{body:{name:o.keyName,scopes:[`orders:read`,`orders:write`]},query:c}),onDone:n});return e?(0,O.jsx)(u,{tone:`good`,children:o.oneDone(e.apiKey)}):(0,O.jsxs)(O.Fragment,{children:[(0,O.jsx)(`p`,{className:`mb-3`,children:o.oneText}),(0,O.jsx)(r,{error:d.error}),(0,O.jsxs)(`div`,{className:`flex flex-wrap gap-2`,children:[s(`apiKeys.create`)&&(0,O.jsx)(`button`,{type:`button`,className:`btn btn-fill`,disabled:d.isPending,onClick:()=>d.mutate(void 0),children:o.make}),(0,O.jsx)(t,{to:`/keys`,className:`btn`,children:o.keys})]})]})}function M({chosen:e,onChoose:t}){return(0,O.jsx)(`div`,{className:`mb-3 flex flex-wrap gap-2`,children:Object.keys(b).map(n=>(0,O.jsx)(`button`,{type:`button`,className:`chip min-h-8 border border-line px-3 aria-pressed:border-fill aria-pressed:bg-fill aria-pressed:text-white`,"aria-pressed":e===n,onClick:()=>t(n),children:n},n))})}var N=({code:e})=>(0,O.jsxs)(O.Fragment,{children:[(0,O.jsx)(`pre`,{className:`code overflow-x-auto p-3 whitespace-pre-wrap`,children:e}),(0,O.jsx)(d,{text:e})]});export{k as Developer};