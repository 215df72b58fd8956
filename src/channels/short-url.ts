/** Binance and Gate document the same limit, in characters. */
const LONGEST_URL = 256

/** A field with a URL. One that is too long for the provider is left out: without it, the payer comes back less easily. */
export const address = (name: string, url: string | null): Record<string, string> =>
  url !== null && url !== '' && url.length <= LONGEST_URL ? { [name]: url } : {}
