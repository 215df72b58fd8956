export type Edit = { file: string; find: string; replace: string }

/** A fault put into the service's source as it is loaded; the files stay as they are. */
export type Plant = {
  name: string
  /** The case of "Money tells one story" that it reintroduces; 0: another fault. */
  number: number
  fault: string
  /** It shows only under faults of nodes, network and database. */
  needsFaults?: boolean
  /** The story that reveals it soonest. */
  story: string
  /** How often the story runs, if its course is random. */
  times?: number
  /** Number of nodes: with a single one, in-memory state is complete. */
  nodes?: number
  edits: readonly Edit[]
}

export const one = (file: string, find: string, replace: string): readonly Edit[] => [{ file, find, replace }]
