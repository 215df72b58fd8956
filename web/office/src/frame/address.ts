import { type HistoryState, useNavigate, useSearch } from '@tanstack/react-router'
import { useEffect, useState } from 'react'

/** What screens keep in the URL; `readWords` in the router lists the parameters that each screen knows. */
export type Address = {
  company?: string | undefined
  status?: string | undefined
  search?: string | undefined
  from?: string | undefined
  to?: string | undefined
  paymentChannel?: string | undefined
  till?: string | undefined
  sort?: string | undefined
  managerEmail?: string | undefined
  columns?: string | undefined
  delivery?: string | undefined
  check?: string | undefined
  request?: string | undefined
  address?: string | undefined
  event?: string | undefined
  action?: string | undefined
  actor?: string | undefined
  object?: string | undefined
  tab?: string | undefined
  page?: number | undefined
}

/** What the entry of the tab's history keeps beside its URL; `true`: the same as before. */
type Kept = true | HistoryState
type How = { replace?: boolean; resetScroll?: boolean; state?: Kept }
type Go = (options: { to: '.'; search(old: Address): Address } & How) => unknown

/**
 * Reads and changes the URL's parameters on any screen. The router types search parameters by route; parts that serve
 * many routes (tabs, pagers, pickers) name them here instead.
 */
export function useAddress(): [Address, (change: Partial<Address>, how?: How) => void] {
  const address: Address = useSearch({ strict: false })
  const navigate = useNavigate() as unknown as Go
  const go = (change: Partial<Address>, how: How = {}): void =>
    void navigate({ to: '.', search: (old) => ({ ...old, ...change }), state: true, ...how })
  return [address, go]
}

/**
 * A text field whose value is kept in the URL: what is typed is shown as it is typed until the field is left, and
 * otherwise what the URL says, whoever changed it.
 */
export function useTyped(value: string) {
  const [typed, setTyped] = useState<string | null>(null)
  useEffect(() => {
    const leave = (): void => setTyped(null)
    addEventListener('popstate', leave)
    return () => removeEventListener('popstate', leave)
  }, [])
  return { value: typed ?? value, isTyped: typed !== null, setTyped }
}
