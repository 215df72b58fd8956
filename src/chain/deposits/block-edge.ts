import { RpcError } from '../endpoints/rpc.ts'

/** How often it must show the same. */
const CHECKS = 2

type Lacks = (block: bigint) => Promise<boolean>

/**
 * Whether age is why a node lacks a block: then it has the next one, each time it is asked. One that refuses some
 * questions for a moment would hide what is below. @throws RpcError
 */
export async function checkEdge(lacks: Lacks, { before, since }: Record<'before' | 'since', bigint>): Promise<void> {
  for (let check = 0; check < CHECKS; check += 1) {
    if (await lacks(since)) throw new RpcError('unknown', `the node lacks block ${since}`)
    if (!(await lacks(before))) throw new RpcError('unknown', `the node lacked block ${before} for a moment`)
  }
}

/**
 * The first block of a range of which a node keeps the logs, as `read` asks for those of one block.
 * @throws RpcError, also where it refuses the last one, or some for a moment
 */
export async function findFirstKept(
  read: (block: bigint) => Promise<unknown>,
  { from, to }: { from: bigint; to: bigint },
): Promise<bigint> {
  const lacks: Lacks = (block) =>
    read(block).then(
      () => false,
      (error: unknown) => {
        if (error instanceof RpcError && error.kind === 'definite') return true
        throw error
      },
    )
  if (!(await lacks(from))) return from
  let [before, since] = [from, to]
  while (since - before > 1n) {
    const middle = (before + since) / 2n
    if (await lacks(middle)) before = middle
    else since = middle
  }
  await checkEdge(lacks, { before, since })
  return since
}
