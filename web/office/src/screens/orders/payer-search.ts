import { useLocation } from '@tanstack/react-router'
import { useCan } from '../../api/session.ts'

declare module '@tanstack/history' {
  interface HistoryState {
    /** Whose orders the list shows. */
    payerEmail?: string | undefined
  }
}

/** A whole address; whether it can be one, the service decides. */
const ADDRESS = /^[^\s@]+@[^\s@]+\.[^\s@]{2,}$/

export type PayerSearch = {
  mayFind: boolean
  /** Undefined: the list shows everyone's. */
  email: string | undefined
  /** Whether a typed text is searched as the e-mail of a payer. */
  finds(text: string): boolean
}

/**
 * The address is kept in the entry of the tab's history, never in its URL: a reload and the way back from an order keep
 * it, and it is in no link that is shared, in no log and in no list of pages visited. So no link makes a person look
 * somebody up, which would be noted under the person's name.
 */
export function usePayerSearch(): PayerSearch {
  const mayFind = useCan()('payers.read')
  const email = useLocation({ select: ({ state }) => state.payerEmail })
  return { mayFind, email: mayFind ? email : undefined, finds: (text) => mayFind && ADDRESS.test(text) }
}
