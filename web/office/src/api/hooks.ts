import { keepPreviousData, QueryClient, type UseQueryResult, useMutation, useQuery } from '@tanstack/react-query'
import { say } from '../kit/toasts.tsx'
import { ApiError, type Args, call, type Route } from './call.ts'

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

type Action<Input, Output> = { run(input: Input): Promise<Output>; done?: string; onDone?(output: Output): void }

/** Something a person does: everything shown is read again afterwards. A refusal stands in `error`. */
export function useAction<Input, Output>({ run, done, onDone }: Action<Input, Output>) {
  return useMutation<Output, Error, Input>({
    mutationFn: run,
    onSuccess: async (output) => {
      if (done !== undefined) say(done)
      onDone?.(output)
      await queryClient.invalidateQueries()
    },
  })
}

/** A given-up question for a code is no failure. */
export const isGivenUp = (error: unknown): boolean =>
  error instanceof ApiError && error.code === 'STEP_UP_REQUIRED' && error.message === ''
