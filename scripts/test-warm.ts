/* Loads what nearly every test process loads: compiled once here, it is not compiled by all that start at once. */
import '../test/harness/providers.ts'
import '../test/harness/shop.ts'

process.exit()
