import { useSyncExternalStore } from 'react'

export const SCHEMES = ['system', 'light', 'dark'] as const
export type Scheme = (typeof SCHEMES)[number]

const listeners = new Set<() => void>()
const read = (): Scheme => SCHEMES.find((scheme) => scheme === localStorage.getItem('scheme')) ?? 'system'

export function startScheme(): void {
  document.documentElement.dataset.scheme = read()
}
export function chooseScheme(scheme: Scheme): void {
  localStorage.setItem('scheme', scheme)
  startScheme()
  for (const listener of listeners) listener()
}
export const useScheme = (): Scheme =>
  useSyncExternalStore((listener) => {
    listeners.add(listener)
    return () => listeners.delete(listener)
  }, read)
