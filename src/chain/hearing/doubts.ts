import { MINUTE } from '../../kernel/clock.ts'
import { RpcError } from '../endpoints/rpc.ts'
import { ChainDoubt, LackingTip, ReaderDoubt } from '../transfer-logs.ts'
import { Disagreement, LoneVoice, Outvoted } from './vote.ts'

/** A doubt that passes by itself has passed by then: someone must look. */
export const LONG_MS = 10 * MINUTE

/** An endpoint does not have a block yet; none says that what was read before it is wrong. */
export const isWaiting = (error: unknown): boolean =>
  error instanceof LackingTip ||
  (error instanceof ChainDoubt && ![ReaderDoubt, Outvoted, Disagreement].some((kind) => error instanceof kind))

/** It has no known reason, as what the database refuses of a node's answers. */
const isUnknown = (error: unknown): boolean =>
  error instanceof Error && ![ChainDoubt, RpcError].some((kind) => error instanceof kind)

/** An endpoint's answers do not fit, or cannot be read: another one may read on. */
export const isOdd = (error: unknown): error is Error =>
  error instanceof Error && (error instanceof ReaderDoubt || isUnknown(error))

/** That a node is silent is no doubt: how far the chain lags says it. */
export const isDoubt = (error: unknown): error is Error =>
  error instanceof Error && !(error instanceof RpcError && !error.refused)

/** Whether this, or no known reason, is an alarm as soon as it stops the reading: it takes a person to end it. */
export const isAlarming = (doubt: Error | undefined): boolean =>
  !doubt || isUnknown(doubt) || doubt instanceof Disagreement || doubt instanceof LoneVoice

/** What an operator can do about it. */
export function adviceOn(doubt: Error, chainId: number): string {
  if (isUnknown(doubt)) return '; the errors in the log say more'
  const setting = `CHAIN_${chainId}_RPC_URL`
  if (doubt instanceof Disagreement)
    return `; find out which one is wrong and take it out of ${setting}, or add a third one, which decides`
  return `; if it lasts, heal that endpoint, take it out of ${setting}, or add another one that keeps these blocks`
}

/** What is logged once when nothing was read for so long, whatever was said before. */
export const longAlarm = (doubt: Error, { chainId }: { chainId: number }): [object, string] => [
  { chainId },
  `ALARM: nothing was read for ten minutes: ${doubt.message}${adviceOn(doubt, chainId)}`,
]
