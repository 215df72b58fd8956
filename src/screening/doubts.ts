import type { Answer, SourceId, Verdict } from './screening.ts'

/** What an answer says against an address without blocking it. A person who releases the address has seen it. */
export type Doubt = { source: SourceId; verdict: 'hold' | 'unavailable'; level: string | null; reasons: string[] }

type Said = { source: SourceId } & Pick<Answer, 'verdict' | 'level' | 'reasons'>

/** Figures change from answer to answer: "12.5 % of its money" is the same doubt as "12.7 %". */
const wordsOf = (reason: string): string => reason.replace(/\d+([.,]\d+)*/g, '#')

/** Whether a source says the same again. */
export const isSameDoubt = (doubt: Said, { source, verdict, level, reasons }: Said): boolean =>
  doubt.source === source &&
  doubt.verdict === verdict &&
  (verdict === 'unavailable' ||
    (doubt.level === level && reasons.every((one) => doubt.reasons.map(wordsOf).includes(wordsOf(one)))))

/** Whether a person's release outweighs what a source says. */
export const isAccepted = (accepted: readonly Doubt[], said: Said): boolean =>
  accepted.some((doubt) => isSameDoubt(doubt, said))

const isDoubt = (verdict: Verdict): verdict is Doubt['verdict'] => verdict === 'hold' || verdict === 'unavailable'

/** What a release accepts: what the sources say now, and what was accepted before. */
export function acceptedWith(accepted: readonly Doubt[], said: readonly Said[]): Doubt[] {
  const shown = said.flatMap(({ source, verdict, level, reasons }): Doubt[] =>
    isDoubt(verdict) ? [{ source, verdict, level, reasons }] : [],
  )
  return [...accepted.filter((doubt) => !isAccepted(shown, doubt)), ...shown]
}

/** An outage is over once its source answers; the next one is another doubt. */
export const withoutEnded = (accepted: readonly Doubt[], said: readonly Said[]): Doubt[] =>
  accepted.filter(
    (doubt) =>
      doubt.verdict !== 'unavailable' ||
      !said.some(({ source, verdict }) => source === doubt.source && verdict !== 'unavailable'),
  )

/** More money than was shown: a source that did not answer about the small sum is waited for. */
export const withoutOutages = (accepted: readonly Doubt[]): Doubt[] =>
  accepted.filter(({ verdict }) => verdict !== 'unavailable')
