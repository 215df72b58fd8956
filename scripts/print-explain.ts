import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { connectSandbox } from '../cli/connection.ts'
import { explain } from '../cli/explain.ts'
import { openStage } from '../cli/plays/stage.ts'
import { PLAYS } from '../cli/plays/stories.ts'

/*
 * node <checkout>/scripts/print-explain.ts, in a folder where the sandbox runs: plays every event and story, and writes
 * what `comptoir explain` says of each order to docs/explain-examples.md.
 */
const { client, sandbox } = connectSandbox({})
const say = (line: string): void => void process.stderr.write(`${line}\n`)
const parts: string[] = []

for (const [name, { description, act }] of Object.entries(PLAYS)) {
  say(name)
  const { code } = await act(openStage(client, sandbox, () => {}))
  const [order, { entries }] = [await client.orders.get(code), await client.api.getOrderStory({ code })]
  parts.push(`## ${name}: ${description}\n\n\`\`\`text\n${explain(order, entries).join('\n')}\n\`\`\`\n`)
}
const head = `# What explain says

\`comptoir explain CODE\` tells one order's whole story in words. Here it tells ${parts.length} orders of different fates, played in the
sandbox by \`comptoir trigger\` and written by \`scripts/print-explain.ts\`.
`
writeFileSync(join(import.meta.dirname, '../docs/explain-examples.md'), `${head}\n${parts.join('\n')}`)
