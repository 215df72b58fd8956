# __NAME__: contract

What `src/channels/__ID__` takes for granted about the provider, and where each fact comes from. `npm run new:channel` wrote the
channel for a plain provider and an imitation (`sandbox/providers/__ID__.ts`) that is as strict as this page says; both agree with
each other and with nothing else yet. Go through the tables with the provider's document open: correct the adapter **and** the
imitation where it differs, and put into the column *source* one of

- **documented**: with the name of the page and the day you read it,
- **seen in public code**: with the name of the project,
- **inferred**: nobody says so, this is how it must be; then it belongs to the list of the first live day.

A row that still says **open** was not looked up. Walk-through: [adding a channel](../adding-a-channel.md).

## Requests

| Fact | As it stands | Where | Source |
|---|---|---|---|
| base address | `__BASE_URL__` | `adapter.ts`, `BASE_URL` | open |
| signature | hex HMAC-SHA256 of time, method, path with query, body, joined by line feeds | `signature.ts` | open |
| headers | `x-api-key`, `x-timestamp` (ms), `x-signature` | `api.ts` | open |
| allowed drift of our clock | one minute | imitation | open |
| encoding of a body | `application/json`, the bytes that were signed | `api.ts` | open |
| errors | HTTP 4xx with `{"error": {"code", "message"}}` | `api.ts` | open |
| too many requests | 429 with `Retry-After` in seconds | `api.ts` | open |

## Payments

| Fact | As it stands | Where | Source |
|---|---|---|---|
| create | `POST /v1/payments`, 201 | `adapter.ts` | open |
| our reference | `reference`, 26 hexadecimal digits fit, unique for ever | `adapter.ts` | open |
| a repeated reference | 409 `reference_exists`, and nothing new is made | `api.ts` | open |
| asset and price | USDC, decimal text with up to 6 digits | `adapter.ts` | open |
| min and max | 0.10 and 100,000 USDC | `adapter.ts` | open |
| longest life | one day | `adapter.ts` | open |
| query | `GET /v1/payments/{id}`, `GET /v1/payments?reference=` | `adapter.ts` | open |
| unknown payment | 404 `payment_not_found` | `api.ts` | open |
| close | `POST /v1/payments/{id}/close`; 409 `payment_not_open` | `adapter.ts` | open |
| money after the end | the word becomes `paid`, and `received` says how much | `status-map.ts` | open |

Codes that mean *definitely not done* stand in `REFUSALS` (`api.ts`). A code belongs there only when the document says that
nothing was made; every other one leaves the payment unknown, and it is asked again.

## Status map

| Word | Meaning here | Source |
|---|---|---|
| `open` | waiting | open |
| `partly_paid`, `confirming`, `paid` | money: `received` is final, `pending` is not | open |
| `expired` | the attempt is over, the order may choose again | open |
| `closed` | the same, by us | open |
| `cancelled` | given up by the payer or in the console: the order becomes CANCELLED | open |
| `failed` | the order becomes ERROR | open |
| `blocked` | held by the provider's screening: KYT_FAILED | open |
| any other | unknown: nothing changes, asked again | – |

Whatever the word, money that was received is told, with its amount compared to what is due.

## Refunds

| Fact | As it stands | Where | Source |
|---|---|---|---|
| send | `POST /v1/payments/{id}/refunds`, in USDC, parts are allowed | `refunds.ts` | open |
| our reference | `reference`, 24 hexadecimal digits, taken once: 409 `refund_exists` | `refunds.ts` | open |
| query | `GET /v1/refunds?reference=`; 404 `refund_not_found` | `refunds.ts` | open |
| words | `pending`, `settled`, `rejected` | `status-map.ts` | open |

If the provider takes the same reference twice, or cannot be asked about one, see "Refunds" in the walk-through before going live.

## Callbacks

| Fact | As it stands | Where | Source |
|---|---|---|---|
| where they go | `callback_url` of each payment | `adapter.ts` | open |
| signature | `x-signature: t=<ms>,v1=<hex HMAC-SHA256 of "t.body">`, own secret | `callback.ts` | open |
| age that is taken | `CALLBACK_MAX_AGE_SECONDS` (300) | `adapter.ts` | inferred |
| expected answer | any 2xx; we answer 200 `OK` | `adapter.ts` | open |
| repetitions | after 10 s, 1, 5, 30 minutes, 2 hours, signed anew | imitation | open |

## Settings

Printed with those of all channels in [settings.md](settings.md).

## The imitation refuses

A wrong key, signature or time (401); a body that is no JSON object (400) or has another media type (415); a reference that is not 8
to 40 digits and small letters, a price with more than 6 digits, another asset, no description, an end in the past or further
than a day away, links that are no addresses (422); a price outside the limits (422 `amount_not_allowed`); a reference that was
used (409); closing what is not open (409); a refund of what is not paid (409), of more than is left (422), or with a used
reference (409). Add what the document says besides.

Its stories are those of every provider: [sandbox](../sandbox.md). It does not tell `confirming` and `cancelled`; the unit
tests do.

## On the first live day

1. One payment of the minimum amount: created, paid, its callback verified (no `a callback was refused` in the log), PAID.
2. The amounts in the provider's console and in `GET /api/next/channel-exchanges/{code}` are the same to the last digit.
3. A refund of a part, then of the rest; the console shows two.
4. An order cancelled here is closed there. One that nobody pays becomes `expired` there with the word above.
5. Every **inferred** row above, one by one.
