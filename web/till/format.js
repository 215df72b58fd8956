/* Amounts and times as the reader of this page writes them. */

const { lang } = document.documentElement
/** A cashier in Zürich reads other numbers than one in Berlin. */
export const locale = navigator.language.startsWith(lang) ? navigator.language : lang

export const exponentOf = (currency) =>
  new Intl.NumberFormat('en', { style: 'currency', currency }).resolvedOptions().maximumFractionDigits

export const money = (amount, asset) =>
  new Intl.NumberFormat(locale, { style: 'currency', currency: asset }).format(amount)

/** The time alone today, with its day before. */
export function timeOf(at) {
  const clock = { hour: '2-digit', minute: '2-digit' }
  const isToday = at.toDateString() === new Date().toDateString()
  return isToday
    ? at.toLocaleTimeString(locale, clock)
    : at.toLocaleString(locale, { day: 'numeric', month: 'short', ...clock })
}
