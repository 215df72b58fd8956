import type { KeyObject } from 'node:crypto'
import { baseUrl, plain, type Setting, seconds, secret } from '../kind.ts'
import { readPrivateKey, readPublicKey } from './signature.ts'
import { readSignedNames } from './signed-names.ts'

const LINKS = ['appPayUrl', 'qrcode', 'qrcodeUrl']
const SOURCES = ['WEB', 'ANDROID', 'IOS']

const faultOf = (read: (text: string) => unknown, message: string) => (text: string) => {
  try {
    read(text)
    return null
  } catch {
    return message
  }
}
const isRsa = (key: KeyObject): void => {
  if (key.asymmetricKeyType !== 'rsa') throw new Error('not RSA')
}
const oneOf = (description: string, choices: readonly string[], fallback: string): Setting => ({
  description,
  fallback,
  fault: (text) => (choices.includes(text) ? null : `must be one of ${choices.join(', ')}`),
})

/** The documentation is available to merchants only: facts known from public code alone can be corrected here. */
export const SETTINGS = {
  BASE_URL: baseUrl('https://pay.kucoin.com/api/kucoinpay', 'everything before /api/v1'),
  API_KEY: secret('API key of the merchant portal'),
  PRIVATE_KEY: {
    ...secret('our RSA key (PKCS#8 PEM), whose public half is registered in the portal'),
    fault: faultOf((text) => isRsa(readPrivateKey(text)), 'must be an RSA private key in PEM'),
  },
  PUBLIC_KEY: {
    ...plain('the public key of KuCoin Pay, from the merchant portal'),
    fault: faultOf((text) => isRsa(readPublicKey(text)), 'must be an RSA public key in PEM'),
  },
  // both as an integrator in production sends them (DFXswiss/api, src/integration/kucoin-pay)
  VERSION: plain('the header PAY-API-VERSION', '3.8.1'),
  SUB_MERCHANT_ID: plain('sub-merchant; "shop": 8 characters of its own for each company; "none": not sent', 'shop'),
  SOURCE: oneOf('where payers come from', SOURCES, 'WEB'),
  EXPIRE_SECONDS: seconds('the longest time that an order may stay open', '3540'),
  QR_FIELD: oneOf('which field of the answer the payer scans', LINKS, 'appPayUrl'),
  SIGNED_FIELDS: {
    ...plain('corrections of the signed names, "create=apiKey requestId timestamp; close=…"', ''),
    fault: faultOf(readSignedNames, 'must look like "create=apiKey requestId timestamp; close=apiKey requestId"'),
  },
  CALLBACK_MAX_AGE_SECONDS: seconds('how far the time of a callback may be from our clock', '300'),
} satisfies Record<string, Setting>
