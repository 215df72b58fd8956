import { TOPICS, type Topic } from './all-settings.ts'
import { fallbackOf, type Setting } from './setting.ts'

const WIDTH = 118

function wrap(text: string): string[] {
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const last = lines.at(-1)
    if (last !== undefined && `${last} ${word}`.length <= WIDTH) lines[lines.length - 1] = `${last} ${word}`
    else lines.push(word)
  }
  return lines
}

function printSetting(setting: Setting): string {
  const { name, description, fallback, example, secret } = setting
  const shown = typeof fallback === 'object' && fallback !== null && 'shown' in fallback ? fallback.shown : undefined
  const known = { port: 3000, baseUrl: 'http://localhost:3000' }
  const value = shown ?? fallbackOf(setting, { mode: 'sandbox', ...known })
  const live = shown === undefined ? fallbackOf(setting, { mode: 'live', ...known }) : value
  const differs = live === value ? '' : ` Live default: ${live ?? 'none'}.`
  const file = secret ? ` Or ${name}_FILE.` : ''
  const comment = wrap(`${description}${differs}${file}`).map((line) => `# ${line}`)
  return [...comment, `#${name}=${value ?? example ?? ''}`].join('\n')
}

const printTopic = ({ title, note, settings }: Topic): string =>
  [
    `# ---- ${title} ----`,
    ...(note === undefined ? [] : wrap(note).map((line) => `# ${line}`)),
    ...settings.map(printSetting),
  ].join('\n')

/** `.env.example`. @param channels the lines of the payment channels, which have their own list */
export const printExample = (channels: string): string => `# Every variable that Comptoir reads, with its default.
# Copy to .env and change what you need; the environment wins. Printed by \`npm run docs\`; do not edit.
# COMPTOIR_ENV_FILE in the environment names another file than .env of the folder that a command runs in.
# A secret may be given as <NAME>_FILE: the path of a file that holds the value.

${TOPICS.map(printTopic).join('\n\n')}

${channels}`
