import { useLocation } from '@tanstack/react-router'
import { useCan, useSession } from '../../api/session.ts'

/** Whose orders the list shows, and to whom: nobody else looks them up by going back. */
type Payer = { email: string; askedBy: string }

declare module '@tanstack/history' {
  interface HistoryState {
    payer?: Payer | undefined
  }
}

/** A whole address; whether it can be one, the service decides. */
const ADDRESS = /^(?!.*\.\.)[^\s@<>,;:()]+@[^\s@<>,;:()]+\.[^\s@<>,;:().]{2,}$/

export const isWhole = (text: string): boolean => ADDRESS.test(text)

export type PayerSearch = {
  mayFind: boolean
  /** Undefined: the list shows everyone's. */
  email: string | undefined
  /** A typed text as the payer of that e-mail; undefined: it is no whole address, or this person may not ask. */
  read(text: string): Payer | undefined
}

/**
 * The address is kept in the entry of the tab's history, never in its URL, which others see: a reload and the way back
 * from an order keep it. So no link makes a person look somebody up, which would be noted under the person's name.
 */
export function usePayerSearch(): PayerSearch {
  const mayFind = useCan()('payers.read')
  const askedBy = useSession().user._id
  const payer = useLocation({ select: ({ state }) => state.payer })
  const email = mayFind && payer?.askedBy === askedBy ? payer.email : undefined
  return { mayFind, email, read: (text) => (mayFind && isWhole(text) ? { email: text, askedBy } : undefined) }
}
