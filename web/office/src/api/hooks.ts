import {
  type InfiniteData,
  keepPreviousData,
  type MutateOptions,
  QueryClient,
  type QueryKey,
  type UseInfiniteQueryResult,
  type UseQueryResult,
  useInfiniteQuery,
  useMutation,
  useQuery,
} from '@tanstack/react-query'
import { useRef } from 'react'
import { say } from '../kit/toasts.tsx'
import { ApiError, type Args, call, type Route } from './call.ts'
import { joinPages, PAGE } from './pages.ts'

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 2000,
      retry: (count, error) => error instanceof ApiError && (error.status === 0 || error.status >= 500) && count < 2,
    },
    // without a connection it fails at once: what waited would be done behind the back of who left the page
    mutations: { networkMode: 'always' },
  },
})

type Options = { enabled?: boolean; liveMs?: number }

/** An answer of the API that is kept, shared between screens, and asked again while the screen is in sight. */
export function useApi<R extends Route>(
  route: R,
  args: Args<R>,
  { enabled = true, liveMs }: Options = {},
): UseQueryResult<Awaited<ReturnType<typeof call<R>>>, Error> {
  const ask = call as (route: R, args: Args<R>, signal: AbortSignal) => ReturnType<typeof call<R>>
  return useQuery({
    queryKey: [route, args],
    queryFn: ({ signal }) => ask(route, args, signal),
    enabled,
    placeholderData: keepPreviousData,
    ...(liveMs ? { refetchInterval: liveMs } : {}),
  }) as UseQueryResult<Awaited<ReturnType<typeof call<R>>>, Error>
}

/** A whole list, for choices and short lists: what a form does not show is taken away when it is sent. */
export function useWhole<R extends Route>(route: R, query: Record<string, unknown>, options: Options = {}) {
  const { enabled = true, liveMs } = options
  const ask = call as unknown as (route: R, args: unknown, signal: AbortSignal) => Promise<{ total: number }>
  return useQuery({
    queryKey: [route, 'whole', query],
    queryFn: ({ signal }) => joinPages((page) => ask(route, { query: { ...query, page, limit: PAGE } }, signal)),
    enabled,
    placeholderData: keepPreviousData,
    ...(liveMs ? { refetchInterval: liveMs } : {}),
  }) as UseQueryResult<Awaited<ReturnType<typeof call<R>>>, Error>
}

/** Pages by cursor, one more on demand; what was read before stays. */
export const useCursorPages = <Page extends { nextCursor: string | null }>(
  queryKey: QueryKey,
  ask: (after: string | undefined, signal: AbortSignal) => Promise<Page>,
): UseInfiniteQueryResult<InfiniteData<Page>, Error> =>
  useInfiniteQuery({
    queryKey,
    queryFn: ({ pageParam, signal }) => ask(pageParam || undefined, signal),
    initialPageParam: '',
    getNextPageParam: ({ nextCursor }) => nextCursor,
    placeholderData: keepPreviousData,
  })

type Action<Input, Output> = {
  run(input: Input): Promise<Output>
  done?: string
  /** Puts back what was there before; offered for a moment. */
  undo?: { word: string; run(input: Input): Promise<unknown> }
  onDone?(output: Output): void
}

/** Something a person does: everything shown is read again afterwards. A refusal stands in `error`. */
export function useAction<Input, Output>({ run, done, undo, onDone }: Action<Input, Output>) {
  const back = (input: Input): void =>
    void undo
      ?.run(input)
      .then(() => queryClient.invalidateQueries())
      .catch((error: unknown) => say(error instanceof Error ? error.message : String(error)))
  const running = useRef(new Set<string>())
  const { mutate: start, ...action } = useMutation<Output, Error, Input>({
    mutationFn: async (input) => {
      try {
        return await run(input)
      } finally {
        running.current.delete(keyOf(input))
      }
    },
    onSuccess: async (output, input) => {
      if (done !== undefined) say(done, undo ? { word: undo.word, run: () => back(input) } : null)
      onDone?.(output)
      await queryClient.invalidateQueries()
    },
  })
  /** The second click of a double click comes before the button is disabled: the same is not done twice at a time. */
  const mutate = (input: Input, options?: MutateOptions<Output, Error, Input>): void => {
    const key = keyOf(input)
    if (running.current.has(key)) return
    running.current.add(key)
    const begin = start as (input: Input, options?: MutateOptions<Output, Error, Input>) => void
    begin(input, options)
  }
  return { ...action, mutate }
}

/** Values by what they say; a form or a file by being one, for they hold themselves. */
function keyOf(input: unknown): string {
  const isPlain = typeof input !== 'object' || input === null || Object.getPrototypeOf(input) === Object.prototype
  return isPlain || Array.isArray(input) ? (JSON.stringify(input) ?? '') : 'element'
}

/** A given-up question for a code is no failure. */
export const isGivenUp = (error: unknown): boolean =>
  error instanceof ApiError && error.code === 'STEP_UP_REQUIRED' && error.message === ''
