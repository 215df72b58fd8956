import { useSyncExternalStore } from 'react'

type Undo = { word: string; run(): void }
type Toast = { id: number; text: string; undo: Undo | null }
let toasts: Toast[] = []
let next = 1
const listeners = new Set<() => void>()

function set(list: Toast[]): void {
  toasts = list
  for (const listener of listeners) listener()
}

const SHOWN_MS = 4500
/** Long enough to read it, notice the mistake and reach the button. */
const UNDO_MS = 10_000

const drop = (id: number): void => set(toasts.filter((toast) => toast.id !== id))

/** Briefly confirms an action, and offers to undo it if possible. */
export function say(text: string, undo: Undo | null = null): void {
  const id = next++
  set([...toasts, { id, text, undo }])
  setTimeout(() => drop(id), undo ? UNDO_MS : SHOWN_MS)
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
      {list.map(({ id, text, undo }) => (
        <p
          key={id}
          className="pointer-events-auto flex items-center gap-4 rounded-lg bg-[#16202b] px-4 py-2.5 text-sm text-white shadow-lg"
        >
          {text}
          {undo && (
            <button
              type="button"
              className="min-h-8 font-medium text-[#5eead4] underline underline-offset-2"
              onClick={() => {
                drop(id)
                undo.run()
              }}
            >
              {undo.word}
            </button>
          )}
        </p>
      ))}
    </div>
  )
}
