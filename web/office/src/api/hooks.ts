import { keepPreviousData, QueryClient, type UseQueryResult, useMutation, useQuery } from '@tanstack/react-query'
import { say } from '../kit/toasts.tsx'
import { ApiError, type Args, call, type Route } from './call.ts'
import { joinPages, PAGE } from './pages.ts'

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 2000,
      retry: (count, error) => error instanceof ApiError && (error.status === 0 || error.status >= 500) && count < 2,
    },
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
  return useMutation<Output, Error, Input>({
    mutationFn: run,
    onSuccess: async (output, input) => {
      if (done !== undefined) say(done, undo ? { word: undo.word, run: () => back(input) } : null)
      onDone?.(output)
      await queryClient.invalidateQueries()
    },
  })
}

/** A given-up question for a code is no failure. */
export const isGivenUp = (error: unknown): boolean =>
  error instanceof ApiError && error.code === 'STEP_UP_REQUIRED' && error.message === ''
