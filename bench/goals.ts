/** A figure with its goal. */
export type Goal = {
  what: string
  figure: number
  goal: number
  /** The figure must not exceed the goal; without it, it must not fall below. */
  most?: boolean
}

const write = (value: number): string => (value >= 100 ? value.toFixed(0) : value.toFixed(2))

/** One line per goal: the figure, the goal, and whether it was reached. */
export function printGoals(goals: readonly Goal[]): void {
  const width = Math.max(0, ...goals.map(({ what }) => what.length))
  process.stdout.write('\n')
  for (const { what, figure, goal, most = false } of goals) {
    const reached = most ? figure <= goal : figure >= goal
    const line = `${write(figure).padStart(9)}   goal ${most ? '≤' : '≥'} ${write(goal).padStart(6)}`
    process.stdout.write(`${what.padEnd(width)}${line}   ${reached ? 'reached' : 'NOT REACHED'}\n`)
  }
}
