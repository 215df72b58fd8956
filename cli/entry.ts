import { runDeveloper } from './main.ts'

// "comptoir orders list | head" has seen enough
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
  process.exit()
})
process.exitCode = await runDeveloper(process.argv.slice(2))
