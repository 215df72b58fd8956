import {
  type InfiniteData,
  type MutateOptions,
  QueryClient,
  type QueryKey,
  type UseInfiniteQueryResult,
  type UseQueryResult,
  useInfiniteQuery,
  useMutation,
  useQuery,
} from '@tanstack/react-query'
import { useRef, useState, useSyncExternalStore } from 'react'
import { say } from '../kit/toasts.tsx'
import { ApiError, type Args, call, newKey, type Route, within } from './call.ts'
import { readUnconfirmed, watchUnconfirmed } from './leaving.ts'
import { joinPages, PAGE } from './pages.ts'
import { readSilence, watchSilence } from './silence.ts'

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 2000,
      retry: (count, error) => isSilence(error) && count < 2,
    },
    // without a connection it fails at once: a queued action could run after the person has left the page
    mutations: { networkMode: 'always' },
  },
})

/** The service, not the request, is why there is no answer to this question. */
export const isSilence = (error: unknown): boolean =>
  error instanceof ApiError && (error.status === 0 || error.status >= 500)

watchSilence(() => {
  const isFailed = ({ state }: { state: { error: unknown } }): boolean => state.error !== null
  if (readSilence() === null) void queryClient.invalidateQueries({ predicate: isFailed })
})

/** From when what the screen shows is, in ms since 1970, while the service answers nothing; null: it answers. */
export const useSilence = (): number | null => useSyncExternalStore(watchSilence, readSilence)
/** Whether a sign-out in this browser is not confirmed by the service. */
export const useUnconfirmed = (): boolean => useSyncExternalStore(watchUnconfirmed, readUnconfirmed)

type Subject = { companyId?: string; payerEmail?: string } | null

/** What a question is about: a thing in its path, a company, a payer. Its other parts choose rows of that. */
const subjectOf = (args: unknown): string => {
  const { path = null, query, body } = (args ?? {}) as { path?: unknown; query?: Subject; body?: Subject }
  const { companyId = null, payerEmail = null } = query ?? body ?? {}
  return JSON.stringify([path, companyId, payerEmail])
}

/**
 * While another page or filter is loading, the rows before it stay. What is about another thing or company does not: it
 * would stand under a wrong name.
 */
function keepRows(args: unknown) {
  return <Answer>(before: Answer | undefined, of: { queryKey: QueryKey } | undefined): Answer | undefined =>
    subjectOf(of?.queryKey.at(-1)) === subjectOf(args) ? before : undefined
}

/** One opening of a dialog, by a name of its own: see `Deed`. */
export const useOpening = (): string => useState(newKey)[0]

/** What a dialog shows of a thing stays as it was when it opened: a person compares and decides that. */
export const useShown = <Thing extends object>(present: Thing): Thing => useState(present)[0]

type Options = {
  enabled?: boolean
  liveMs?: number
  /** Only what the service answers in this opening of a dialog is shown, nothing that was answered before. */
  opening?: string
  /** The service records each answer: none is asked for just because the window has the focus again. */
  isNoted?: boolean
}

/** A response of the API that is cached, shared between screens, and refetched while the screen is visible. */
export function useApi<R extends Route>(
  route: R,
  args: Args<R>,
  { enabled = true, liveMs, opening, isNoted = false }: Options = {},
): UseQueryResult<Awaited<ReturnType<typeof call<R>>>, Error> {
  const ask = call as (route: R, args: Args<R>, signal: AbortSignal) => ReturnType<typeof call<R>>
  return useQuery({
    queryKey: [route, ...(opening === undefined ? [] : [opening]), args],
    queryFn: ({ signal }) => ask(route, args, signal),
    enabled,
    placeholderData: keepRows(args),
    ...(liveMs ? { refetchInterval: liveMs } : {}),
    ...(isNoted ? { staleTime: Number.POSITIVE_INFINITY } : {}),
  }) as UseQueryResult<Awaited<ReturnType<typeof call<R>>>, Error>
}

/** A whole list, for choices and short lists: whatever a form does not show would be removed when it is sent. */
export function useWhole<R extends Route>(route: R, query: Record<string, unknown>, options: Options = {}) {
  const { enabled = true, liveMs } = options
  const ask = call as unknown as (route: R, args: unknown, signal: AbortSignal) => Promise<{ total: number }>
  return useQuery({
    queryKey: [route, 'whole', { query }],
    queryFn: ({ signal }) => joinPages((page) => ask(route, { query: { ...query, page, limit: PAGE } }, signal)),
    enabled,
    placeholderData: keepRows({ query }),
    ...(liveMs ? { refetchInterval: liveMs } : {}),
  }) as UseQueryResult<Awaited<ReturnType<typeof call<R>>>, Error>
}

/**
 * Pages by cursor, one more on demand; pages already read stay. Figures of one statement never stand under another.
 * @param liveMs how often a single page is fetched again; several come all together, so less often
 */
export const useCursorPages = <Page extends { nextCursor: string | null }>(
  queryKey: QueryKey,
  ask: (after: string | undefined, signal: AbortSignal) => Promise<Page>,
  liveMs?: number,
): UseInfiniteQueryResult<InfiniteData<Page>, Error> =>
  useInfiniteQuery({
    queryKey,
    queryFn: ({ pageParam, signal }) => ask(pageParam || undefined, signal),
    initialPageParam: '',
    getNextPageParam: ({ nextCursor }) => nextCursor,
    refetchInterval: ({ state }) => (liveMs ? liveMs * (state.data?.pages.length ?? 1) : false),
  })

type Action<Input, Output> = {
  run(input: Input): Promise<Output>
  done?: string
  /**
   * Each press does it anew, also after one without an answer: twice harms nobody, but an old answer would pass for a
   * new one. Otherwise a press is repeated as it was, as long as the component that holds the action is there.
   */
  isAnew?: boolean
  /** Restores the previous state; offered for a moment. */
  undo?: { word: string; run(input: Input): Promise<unknown> }
  onDone?(output: Output): void
}

/**
 * An action of a person: everything shown is refetched afterwards, until which it is pending. `isDone` is true from the
 * answer on. A refusal is in `error`.
 */
export function useAction<Input, Output>({ run, done, isAnew = false, undo, onDone }: Action<Input, Output>) {
  const opening = useOpening()
  const back = (input: Input): void =>
    void undo
      ?.run(input)
      .then(() => queryClient.invalidateQueries())
      .catch((error: unknown) => say(error instanceof Error ? error.message : String(error)))
  const running = useRef(new Set<string>())
  const [isDone, setIsDone] = useState(false)
  const { mutate: start, ...action } = useMutation<Output, Error, Input>({
    mutationFn: async (input) => {
      try {
        return await within(isAnew ? null : opening, () => run(input))
      } finally {
        running.current.delete(keyOf(input))
      }
    },
    onSuccess: async (output, input) => {
      setIsDone(true)
      if (done !== undefined) say(done, undo ? { word: undo.word, run: () => back(input) } : null)
      onDone?.(output)
      await queryClient.invalidateQueries()
    },
    // the service knows something newer than the screen shows
    onError: (error) => {
      if (error instanceof ApiError && error.status === 409) void queryClient.invalidateQueries()
    },
  })
  /**
   * The second click of a double click arrives before the button is disabled: the same input does not run twice at
   * once.
   */
  const mutate = (input: Input, options?: MutateOptions<Output, Error, Input>): void => {
    const key = keyOf(input)
    if (running.current.has(key)) return
    running.current.add(key)
    setIsDone(false)
    const begin = start as (input: Input, options?: MutateOptions<Output, Error, Input>) => void
    begin(input, options)
  }
  return { ...action, isDone, mutate }
}

/** Values by content; forms and files by identity. */
function keyOf(input: unknown): string {
  const isPlain = typeof input !== 'object' || input === null || Object.getPrototypeOf(input) === Object.prototype
  return isPlain || Array.isArray(input) ? (JSON.stringify(input) ?? '') : 'element'
}

/** Cancelling the request for a code is not a failure. */
export const isGivenUp = (error: unknown): boolean =>
  error instanceof ApiError && error.code === 'STEP_UP_REQUIRED' && error.message === ''
