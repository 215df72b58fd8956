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
 * its number, whichever others were seen with it: an index may have lacked some at first. It is known by what it says
 * rather than by its place, on which endpoints differ: one more of the same amount counts once both are shown together.
 * One that is mined again elsewhere takes the number of a row that says the same, else the lowest that is free, in the
 * order of the logs.
 * @param known rows of these transactions, in the order of their numbers
 */
export function numberWithin(known: readonly Known[], found: readonly FoundTransfer[]): Numbered[] {
  const knownByGroup = Map.groupBy(known, groupOf)
  return [...Map.groupBy(found, groupOf)].flatMap(([group, some]) => numberGroup(knownByGroup.get(group) ?? [], some))
}

type Fits = (row: Known, transfer: FoundTransfer) => boolean
const isInBlock: Fits = (row, { blockHash }) => row.blockHash === blockHash
const isAtPlace: Fits = (row, transfer) => placeOf(row) === placeOf(transfer)
const isOfWord: Fits = (row, transfer) => wordOf(row) === wordOf(transfer)

function numberGroup(known: readonly Known[], found: readonly FoundTransfer[]): Numbered[] {
  const blocks = new Set(found.map(({ blockHash }) => blockHash))
  const isElsewhere = ({ blockHash }: Known): boolean => !blocks.has(blockHash)
  const rounds: Fits[] = [
    (row, transfer) => isAtPlace(row, transfer) && isOfWord(row, transfer),
    (row, transfer) => isInBlock(row, transfer) && isOfWord(row, transfer),
    isAtPlace,
    (row, transfer) => isElsewhere(row) && isOfWord(row, transfer),
  ]
  const inOrder = found.toSorted((left, right) => left.logIndex - right.logIndex)
  const numbers = new Map<FoundTransfer, number>()
  const left = new Set(known)
  for (const fits of rounds)
    for (const transfer of inOrder) {
      const row = numbers.has(transfer) ? undefined : [...left].find((one) => fits(one, transfer))
      if (!row) continue
      numbers.set(transfer, row.nth)
      left.delete(row)
    }
  // earlier versions gave one log two numbers: the second is free for the log that they lost by it
  const firsts = new Set([...Map.groupBy(known, placeOf).values()].map(([first]) => first))
  const kept = [...left].filter((row) => !isElsewhere(row) && firsts.has(row))
  const taken = new Set([...numbers.values(), ...kept.map(({ nth }) => nth)])
  let next = 0
  return inOrder.map((transfer) => {
    const nth = numbers.get(transfer)
    while (nth === undefined && taken.has(next)) next += 1
    return { ...transfer, nth: nth ?? next++ }
  })
}
