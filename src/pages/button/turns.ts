/** Runs work one at a time for each key, in the order of the calls. */
export type InTurn = <Result>(key: string, work: () => Promise<Result>) => Promise<Result>

export function openTurns(): InTurn {
  const last = new Map<string, Promise<void>>()
  return (key, work) => {
    const before = last.get(key)
    const result = before ? before.then(work) : work()
    const turn = result.then(
      () => {},
      () => {},
    )
    last.set(key, turn)
    void turn.then(() => last.get(key) === turn && last.delete(key))
    return result
  }
}
