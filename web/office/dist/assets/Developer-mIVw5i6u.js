import{t as e}from"./link-DuBMU2AF.js";import{$ as t,A as n,P as r,Q as i,c as a,g as o,tt as s,v as c,z as l}from"./fields-BkogOkSf.js";import{s as u}from"./session-DoLKdie5.js";import{r as d}from"./company-DrRuk7Vr.js";var f=s(t(),1),p={curl:(e,t)=>`curl ${e}/api/next/confirm_conversion/request \\
  -H "x-api-key: $COMPTOIR_API_KEY" -H "x-api-secret: $COMPTOIR_API_SECRET" \\
  -H "idempotency-key: order-1001" -H "content-type: application/json" \\
  -d '{"amount":"12.50","fromAsset":"EUR","merchantIdentifier":"${t}"}'`,JavaScript:(e,t)=>`const answer = await fetch('${e}/api/next/confirm_conversion/request', {
  method: 'POST',
  headers: {
    'x-api-key': process.env.COMPTOIR_API_KEY,
    'x-api-secret': process.env.COMPTOIR_API_SECRET,
    'idempotency-key': 'order-1001',
    'content-type': 'application/json',
  },
  body: JSON.stringify({ amount: '12.50', fromAsset: 'EUR', merchantIdentifier: '${t}' }),
})
const { data } = await answer.json()
console.log(data.paymentUrl)`,PHP:(e,t)=>`<?php
$call = curl_init('${e}/api/next/confirm_conversion/request');
curl_setopt_array($call, [
  CURLOPT_RETURNTRANSFER => true,
  CURLOPT_HTTPHEADER => [
    'x-api-key: ' . getenv('COMPTOIR_API_KEY'),
    'x-api-secret: ' . getenv('COMPTOIR_API_SECRET'),
    'idempotency-key: order-1001',
    'content-type: application/json',
  ],
  CURLOPT_POSTFIELDS => json_encode(
    ['amount' => '12.50', 'fromAsset' => 'EUR', 'merchantIdentifier' => '${t}']
  ),
]);
echo json_decode(curl_exec($call))->data->paymentUrl;`,Python:(e,t)=>`import json, os, urllib.request

call = urllib.request.Request(
    '${e}/api/next/confirm_conversion/request',
    data=json.dumps({'amount': '12.50', 'fromAsset': 'EUR', 'merchantIdentifier': '${t}'}).encode(),
    headers={
        'x-api-key': os.environ['COMPTOIR_API_KEY'],
        'x-api-secret': os.environ['COMPTOIR_API_SECRET'],
        'idempotency-key': 'order-1001',
        'content-type': 'application/json',
    },
)
print(json.load(urllib.request.urlopen(call))['data']['paymentUrl'])`},m=`import { createHmac, timingSafeEqual } from 'node:crypto'

// rawBody: the bytes exactly as received; secret: starts with whsec_
export function isGenuine(rawBody, header, secret) {
  const { t, v1 } = Object.fromEntries(header.split(',').map((part) => part.split('=')))
  if (Math.abs(Date.now() / 1000 - Number(t)) > 300) return false
  const expected = createHmac('sha256', secret).update(\`\${t}.\${rawBody}\`).digest()
  const given = Buffer.from(v1, 'hex')
  return given.length === expected.length && timingSafeEqual(given, expected)
}`,h=n({title:`First steps`,lead:`From a key to the first webhook in three steps.`,one:`1. Make an API key`,oneText:`Your server sends it with each call. The secret is shown once.`,keys:`API keys`,two:`2. Create an order`,twoText:`Show the customer the payment page, or its code to scan.`,three:`3. Receive the webhook`,threeText:`Check the signature, answer 2xx within ten seconds, and act once for each Service-Webhook-Id.`,reference:`API reference`},{fr:{title:`Premiers pas`,lead:`D’une clé au premier webhook en trois étapes.`,one:`1. Créez une clé d’API`,oneText:`Votre serveur la joint à chaque appel. Le secret n’est affiché qu’une fois.`,keys:`Clés d’API`,two:`2. Créez une commande`,twoText:`Montrez au client la page de paiement ou son code à scanner.`,three:`3. Recevez le webhook`,threeText:`Vérifiez la signature, répondez 2xx sous dix secondes et n’agissez qu’une fois par Service-Webhook-Id.`,reference:`Référence de l’API`},de:{title:`Erste Schritte`,lead:`Vom Schlüssel zum ersten Webhook in drei Schritten.`,one:`1. API-Schlüssel anlegen`,oneText:`Ihr Server sendet ihn bei jedem Aufruf mit. Das Geheimnis wird einmal gezeigt.`,keys:`API-Schlüssel`,two:`2. Bestellung anlegen`,twoText:`Zeigen Sie die Zahlungsseite oder ihren Code zum Scannen.`,three:`3. Webhook empfangen`,threeText:`Prüfen Sie die Signatur, antworten Sie binnen zehn Sekunden mit 2xx, handeln Sie je Service-Webhook-Id einmal.`,reference:`API-Referenz`},es:{title:`Primeros pasos`,lead:`De una clave al primer webhook en tres pasos.`,one:`1. Cree una clave de API`,oneText:`Su servidor la envía en cada llamada. El secreto se muestra una sola vez.`,keys:`Claves de API`,two:`2. Cree un pedido`,twoText:`Muestre al cliente la página de pago o su código para escanear.`,three:`3. Reciba el webhook`,threeText:`Compruebe la firma, responda 2xx en diez segundos y actúe una vez por cada Service-Webhook-Id.`,reference:`Referencia de la API`},it:{title:`Primi passi`,lead:`Da una chiave al primo webhook in tre passi.`,one:`1. Crei una chiave API`,oneText:`Il suo server la invia a ogni chiamata. Il segreto si vede una volta sola.`,keys:`Chiavi API`,two:`2. Crei un ordine`,twoText:`Mostri al cliente la pagina di pagamento o il codice da inquadrare.`,three:`3. Riceva il webhook`,threeText:`Verifichi la firma, risponda 2xx entro dieci secondi e agisca una volta per ogni Service-Webhook-Id.`,reference:`Riferimento dell’API`}}),g=i();function _(){let t=r(h),n=u(),[i,a]=(0,f.useState)(`curl`),s=l(`GET /api/next/collectors/list`,{query:{...d(),limit:1,active:!0}},{enabled:n(`tills.read`)}).data?.collectors[0]?.identifier??`TILL-1`,_=p[i]?.(location.origin,s)??``;return(0,g.jsxs)(o,{title:t.title,lead:t.lead,actions:(0,g.jsx)(`a`,{className:`btn`,href:`/docs/api`,target:`_blank`,rel:`noreferrer`,children:t.reference}),children:[(0,g.jsxs)(c,{title:t.one,children:[(0,g.jsx)(`p`,{className:`mb-3`,children:t.oneText}),n(`apiKeys.read`)&&(0,g.jsx)(e,{to:`/keys`,className:`btn`,children:t.keys})]}),(0,g.jsxs)(c,{title:t.two,children:[(0,g.jsx)(`p`,{className:`mb-3`,children:t.twoText}),(0,g.jsx)(`div`,{className:`mb-3 flex flex-wrap gap-2`,children:Object.keys(p).map(e=>(0,g.jsx)(`button`,{type:`button`,className:`chip min-h-8 border border-line px-3 aria-pressed:border-fill aria-pressed:bg-fill aria-pressed:text-white`,"aria-pressed":i===e,onClick:()=>a(e),children:e},e))}),(0,g.jsx)(v,{code:_})]}),(0,g.jsxs)(c,{title:t.three,children:[(0,g.jsx)(`p`,{className:`mb-3`,children:t.threeText}),(0,g.jsx)(v,{code:m})]})]})}var v=({code:e})=>(0,g.jsxs)(g.Fragment,{children:[(0,g.jsx)(`pre`,{className:`code overflow-x-auto p-3 whitespace-pre-wrap`,children:e}),(0,g.jsx)(a,{text:e})]});export{_ as Developer};