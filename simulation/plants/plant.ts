export type Edit = { file: string; find: string; replace: string }

/** A fault put into the service's source as it is loaded; the files stay as they are. */
export type Plant = {
  name: string
  /** The case of "Money tells one story" that it brings back; 0: another fault. */
  number: number
  fault: string
  /** It shows only when nodes, network and database fail. */
  needsFaults?: boolean
  /** The story that meets it soonest. */
  story: string
  /** How often the story is told, where it draws what happens. */
  times?: number
  /** How many nodes: with one, what it remembers is all there is. */
  nodes?: number
  edits: readonly Edit[]
}

export const one = (file: string, find: string, replace: string): readonly Edit[] => [{ file, find, replace }]
