/** Excel on Windows takes a file without it for one of another encoding, and garbles accents. */
const BYTE_ORDER_MARK = '\uFEFF'

/** Every CSV that the office saves, of parts without a byte order mark. */
export const csvBlob = (parts: readonly (string | Blob)[]): Blob =>
  new Blob([BYTE_ORDER_MARK, ...parts], { type: 'text/csv;charset=utf-8' })
