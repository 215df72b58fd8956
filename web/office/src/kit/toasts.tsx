import { useSyncExternalStore } from 'react'

type Toast = { id: number; text: string }
let toasts: Toast[] = []
let next = 1
const listeners = new Set<() => void>()

function set(list: Toast[]): void {
  toasts = list
  for (const listener of listeners) listener()
}

/** Says shortly that something was done. */
export function say(text: string): void {
  const id = next++
  set([...toasts, { id, text }])
  setTimeout(() => set(toasts.filter((toast) => toast.id !== id)), 4500)
}

export function Toasts() {
  const list = useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => toasts,
  )
  return (
    <div
      role="status"
      aria-live="polite"
      className="pointer-events-none fixed inset-x-0 bottom-4 z-50 flex flex-col items-center gap-2 px-4"
    >
      {list.map(({ id, text }) => (
        <p key={id} className="rounded-lg bg-[#16202b] px-4 py-2.5 text-sm text-white shadow-lg">
          {text}
        </p>
      ))}
    </div>
  )
}
