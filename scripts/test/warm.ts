/* Loads what tests and the processes that they start load: compiled once here, not by all that start at once. */
import '../../cli/main.ts'
import '../../src/commands/serve/serve-command.ts'
import '../../test/harness/providers.ts'
import '../../test/harness/shop.ts'

process.exit()
