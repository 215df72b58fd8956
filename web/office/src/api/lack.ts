import { ApiError } from './call.ts'

/** What a refund needs that the company's balance does not cover, in USDC. */
export type Lack = Record<'needs' | 'left' | 'missing' | 'owedAfter', string>

/** The figures of a refusal for lack of cover; null: it was refused for something else, or by an older node. */
export function lackOf(error: unknown): Lack | null {
  if (!(error instanceof ApiError) || error.code !== 'REFUND_NOT_COVERED') return null
  const figure = (name: keyof Lack) => error.details.find(({ path }) => path === name)?.message
  const [needs, left] = [figure('needs'), figure('left')]
  const [missing, owedAfter] = [figure('missing'), figure('owedAfter')]
  if (needs === undefined || left === undefined || missing === undefined || owedAfter === undefined) return null
  return { needs, left, missing, owedAfter }
}
