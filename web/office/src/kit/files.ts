/** Base64 without the leading `data:` part. */
export const readBase64 = (file: File): Promise<string> =>
  new Promise((resolve, reject) => {
    const reader = new FileReader()
    reader.onload = () => resolve(String(reader.result).split(',')[1] ?? '')
    reader.onerror = () => reject(reader.error)
    reader.readAsDataURL(file)
  })

/** Excel on Windows takes a file without it for one of another encoding, and garbles accents. */
const BYTE_ORDER_MARK = '\uFEFF'

/** Every CSV that the office saves, of parts without a byte order mark. */
export const csvBlob = (parts: readonly BlobPart[]): Blob =>
  new Blob([BYTE_ORDER_MARK, ...parts], { type: 'text/csv;charset=utf-8' })

type Saved = { blob: Blob; name: string }

export function saveAs({ blob, name }: Saved): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(blob)
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000)
}
