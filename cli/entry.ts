import { runDeveloper } from './main.ts'

process.exitCode = await runDeveloper(process.argv.slice(2))
