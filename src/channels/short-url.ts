/** Binance and Gate document the same limit, in characters. */
const LONGEST_URL = 256

/** A field with a URL; one that is too long for the provider is left out, and the order can still be paid. */
export const address = (name: string, url: string | null): Record<string, string> =>
  url !== null && url !== '' && url.length <= LONGEST_URL ? { [name]: url } : {}
