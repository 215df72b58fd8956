import { setDefaultResultOrder } from 'node:dns'
import { setDefaultAutoSelectFamilyAttemptTimeout } from 'node:net'
import { runDeveloper } from './main.ts'

// Node's 250 ms are too short for one lost packet, and IPv6 may drop all (src/kernel/process/address-attempts.ts)
setDefaultAutoSelectFamilyAttemptTimeout(2000)
setDefaultResultOrder('ipv4first')

// "comptoir orders list | head" has seen enough
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
  process.exit()
})
process.exitCode = await runDeveloper(process.argv.slice(2))
