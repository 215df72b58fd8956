/*
 * The sales that this device keeps, each under a name of its own, so that windows which sell at once lose nothing of each
 * other.
 */
import { keep, keepIfRoom } from './api.js'

const PREFIX = 'till.sale.'
/** Tills of earlier versions kept them in one list, which each window wrote as a whole. */
const LIST = 'till.sales'

const parse = (text) => (text === null ? undefined : JSON.parse(text))
export const find = (key) => parse(localStorage.getItem(PREFIX + key))
/** @throws StorageFull */
export const write = (sale) => keep(PREFIX + sale.key, JSON.stringify(sale))
export const forget = (key) => localStorage.removeItem(PREFIX + key)

/** Oldest first. */
export const list = () =>
  Object.keys(localStorage)
    .filter((name) => name.startsWith(PREFIX))
    .flatMap((name) => parse(localStorage.getItem(name)) ?? [])
    .sort((one, other) => one.at - other.at)

/** Nothing where the sale is not kept any more. @throws StorageFull */
export function change(key, changed) {
  const sale = find(key)
  if (sale) write({ ...sale, ...changed })
}

/**
 * Takes over what waits in the list, also later: a window of the earlier version may still write one. What finds no room
 * stays there.
 */
export function unpack() {
  const packed = parse(localStorage.getItem(LIST))
  if (!packed) return
  const left = packed.filter((sale) => {
    if (sale.outcome || find(sale.key)) return false
    try {
      // those of the earliest version have no time
      write({ at: Date.now(), ...sale })
      return false
    } catch {
      return true
    }
  })
  if (left.length === 0) localStorage.removeItem(LIST)
  else if (left.length < packed.length) keepIfRoom(LIST, JSON.stringify(left))
}
unpack()

/** A window that has changed a sale calls `listener` with its key in all others; null: any may have changed. */
export function onChange(listener) {
  window.addEventListener('storage', ({ key: name }) => {
    if (name === LIST) unpack()
    if (name === LIST || name === null) listener(null)
    else if (name.startsWith(PREFIX)) listener(name.slice(PREFIX.length))
  })
}
