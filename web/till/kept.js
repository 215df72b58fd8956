/*
 * The sales that this device keeps, each under a name of its own, so that windows which sell at once lose nothing of
 * each other.
 */
import { keep, keepIfRoom, session } from './api.js'

const PREFIX = 'till.sale.'
/** Tills of earlier versions kept them in one list, which each window wrote as a whole. */
const LIST = 'till.sales'

const parse = (text) => (text === null ? undefined : JSON.parse(text))
export const find = (key) => parse(localStorage.getItem(PREFIX + key))
/** @throws StorageFull */
export function write(sale) {
  keep(PREFIX + sale.key, JSON.stringify(sale))
  tell()
}
export function forget(key) {
  localStorage.removeItem(PREFIX + key)
  tell()
}

const watchers = []
let isTelling = false
/** Once for all changes of the moment. */
function tell() {
  if (isTelling) return
  isTelling = true
  queueMicrotask(() => {
    isTelling = false
    for (const watcher of watchers) watcher()
  })
}
/** Calls `watcher` after changes, whichever window made them. */
export const watchKept = (watcher) => watchers.push(watcher)

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
 * Takes over what waits in the list, also later: a window of the earlier version may still write one. What finds no
 * room stays there.
 */
export function unpack() {
  const packed = parse(localStorage.getItem(LIST))
  if (!packed) return
  const left = packed.filter((sale) => {
    if (sale.outcome || find(sale.key)) return false
    try {
      // they say nothing of the person, those of the earliest version not the time either
      write({ at: Date.now(), user: session.user, ...sale })
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
    if (name !== LIST && name !== null && !name.startsWith(PREFIX)) return
    tell()
    if (name === LIST) unpack()
    if (name === LIST || name === null) listener(null)
    else listener(name.slice(PREFIX.length))
  })
}
