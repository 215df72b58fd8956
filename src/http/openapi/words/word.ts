/** What a field means, as a sentence, and what it may look like. */
export type Word = readonly [description: string, example?: unknown]

export const ID = '66a1f0c2e4b07d3a5c9e1f20'
export const WALLET = '0x8ba1f109551bD432803012645Ac136ddd64DBA72'
export const HASH = '0x5c504ed432cb51138bcf09aa5e8a410dd4a1e204ef84bfed1be16dfba1b22060'
export const TIME = '2026-07-03T09:30:00.000Z'
/** The smallest logo: 16 by 16. */
export const PNG = 'iVBORw0KGgoAAAANSUhEUgAAABAAAAAQAQAAAAA3iMLMAAAADElEQVR42mNgIA0AAAAwAAEodEl9AAAAAElFTkSuQmCC'
