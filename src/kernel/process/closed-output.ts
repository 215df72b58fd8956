function leave(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error
  process.exit()
}

/** "comptoir admin addresses … | head" has seen enough: a command whose output nobody reads any more ends quietly. */
export const endWithReader = (): void => {
  if (!process.stdout.listeners('error').includes(leave)) process.stdout.on('error', leave)
}
