/** "20,5" as people type it, in the API's form; null: not an amount. */
export function decimalOf(text: string): string | null {
  const plain = text.trim().replace(',', '.')
  return /^\d{1,9}(\.\d{1,2})?$/.test(plain) ? plain : null
}
