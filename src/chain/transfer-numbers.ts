import type { FoundTransfer, Transfer } from './transfer.ts'

type Known = Pick<
  Transfer,
  'txHash' | 'token' | 'toAddress' | 'nth' | 'blockHash' | 'logIndex' | 'fromAddress' | 'units'
>
type Numbered = FoundTransfer & Pick<Transfer, 'nth'>

const groupOf = ({ txHash, token, toAddress }: Known | FoundTransfer): string => [txHash, token, toAddress].join()
const placeOf = ({ blockHash, logIndex }: Known | FoundTransfer): string => `${blockHash}:${logIndex}`
const wordOf = ({ fromAddress, units }: Known | FoundTransfer): string => `${fromAddress}:${units}`

/**
 * Numbers the transfers of one token to one address within their transaction. A log that is known in its block keeps
 * its number, whichever others were seen with it: an index may have lacked some at first. One that is mined again
 * elsewhere takes the number of a row that says the same, else the lowest that is free, in the order of the logs.
 * @param known rows of these transactions, in the order of their numbers
 */
export function numberWithin(known: readonly Known[], found: readonly FoundTransfer[]): Numbered[] {
  const knownByGroup = Map.groupBy(known, groupOf)
  return [...Map.groupBy(found, groupOf)].flatMap(([group, some]) => numberGroup(knownByGroup.get(group) ?? [], some))
}

function numberGroup(known: readonly Known[], found: readonly FoundTransfer[]): Numbered[] {
  const blocks = new Set(found.map(({ blockHash }) => blockHash))
  const byPlace = new Map<string, number>()
  const free: Known[] = []
  for (const row of known) {
    // earlier versions gave one log two numbers: the second is free for the log that they lost by it
    if (!blocks.has(row.blockHash) || byPlace.has(placeOf(row))) free.push(row)
    else byPlace.set(placeOf(row), row.nth)
  }
  const byWord = Map.groupBy(free, wordOf)
  const taken = new Set(byPlace.values())
  const inOrder = found.toSorted((left, right) => left.logIndex - right.logIndex)
  const recognised = inOrder.map((transfer) => {
    const nth = byPlace.get(placeOf(transfer)) ?? byWord.get(wordOf(transfer))?.shift()?.nth
    if (nth !== undefined) taken.add(nth)
    return { transfer, nth }
  })
  let next = 0
  return recognised.map(({ transfer, nth }) => {
    while (nth === undefined && taken.has(next)) next += 1
    return { ...transfer, nth: nth ?? next++ }
  })
}
