import { availableParallelism } from 'node:os'

export const MAX_PROCESSES = 64

/** The number of processes that `PROCESSES` means here. With three, one API process may die while the other answers. */
export const countProcesses = (processes: number | 'auto', cores = availableParallelism()): number =>
  processes === 'auto' ? Math.min(MAX_PROCESSES, Math.max(3, cores + 1)) : processes
