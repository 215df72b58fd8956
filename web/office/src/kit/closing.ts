import { useEffect } from 'react'
import { say } from './toasts.tsx'

/**
 * Closes a question that a colleague has answered meanwhile, and says so.
 * @param isPast one that is being answered here is not
 */
export function useClosing(isPast: boolean, words: string, onClose: () => void): void {
  useEffect(() => {
    if (!isPast) return
    say(words)
    onClose()
  }, [isPast, words, onClose])
}
