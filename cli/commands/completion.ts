import TABLE from '../../bin/commands.json' with { type: 'json' }
import { COMMON, type Command, UsageError } from '../command.ts'

const SHELLS = ['bash', 'zsh', 'fish']

/** One place on the command line: what may be typed there. `path` is empty for the name of a command. */
type Place = { path: string[]; words: { name: string; summary: string }[]; flags: string[] }

const plain = (names: readonly string[]): Place['words'] => names.map((name) => ({ name, summary: '' }))

function placesOf(command: Command, before: readonly string[] = []): Place[] {
  const { name, subcommands = [], choices = [], flags = {} } = command
  const path = [...before, name]
  if (subcommands.length === 0) return [{ path, words: plain(choices), flags: Object.keys({ ...flags, ...COMMON }) }]
  return [{ path, words: subcommands, flags: ['help'] }, ...subcommands.flatMap((one) => placesOf(one, path))]
}

/** The service’s own commands are known by the table of the launcher: this program shares no code with them. */
function listPlaces(commands: readonly Command[]): Place[] {
  const service = Object.entries(TABLE.service).map(([name, entry]) => ({ name, words: [], ...entry }))
  return [
    { path: [], words: [...service, ...commands], flags: ['help', 'version'] },
    ...service.map(({ name, words, flags }) => ({ path: [name], words: plain(words), flags: [...flags, 'help'] })),
    ...commands.flatMap((command) => placesOf(command)),
  ]
}

/** Words stand at their place alone, flags also behind what follows it; where nothing fits, the shell offers files. */
function bash(places: readonly Place[]): string {
  const cases = places.map(({ path, words, flags }) => {
    const place = path.map((name) => ` ${name}`).join('')
    const names = words.map(({ name }) => name).join(' ')
    const options = flags.map((name) => `--${name}`).join(' ')
    const here = `    "${place}") words="${names}"; flags="${options}" ;;`
    return path.length === 0 ? here : `${here}\n    "${place} "*) flags="${options}" ;;`
  })
  // what is more exact comes first: " orders create" is also " orders " with something behind it
  return `_comptoir() {
  local place="" words="" flags="" i
  for ((i = 1; i < COMP_CWORD; i++)); do place="$place \${COMP_WORDS[i]}"; done
  case "$place" in
${cases.reverse().join('\n')}
  esac
  case "\${COMP_WORDS[COMP_CWORD]}" in -*) words="$flags" ;; esac
  COMPREPLY=( $(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}") )
}
complete -o default -F _comptoir comptoir`
}

const quoted = (text: string): string => `'${text.replace(/['\\]/g, '\\$&')}'`

function fish(places: readonly Place[]): string {
  const lines = places.flatMap(({ path, words, flags }) => {
    const seen = path.map((name) => `__fish_seen_subcommand_from ${name}`)
    const names = words.map(({ name }) => name).join(' ')
    const here = path.length === 0 ? '__fish_use_subcommand' : seen.join('; and ')
    const free = path.length === 0 ? here : `${here}; and not __fish_seen_subcommand_from ${names}`
    return [
      ...words.map(({ name, summary }) => `-n ${quoted(free)} -a ${name}${summary && ` -d ${quoted(summary)}`}`),
      ...flags.map((name) => `-n ${quoted(here)} -l ${name}`),
    ]
  })
  return lines.map((line) => `complete -c comptoir ${line}`).join('\n')
}

/** @param commands a function, because the list contains this command itself */
export const openCompletion = (commands: () => readonly Command[]): Command => ({
  name: 'completion',
  summary: 'Print completions for a shell',
  takes: SHELLS.join('|'),
  arity: [1, 1],
  choices: SHELLS,
  examples: ['source <(comptoir completion bash)'],
  async run({ args, show }) {
    const [shell = ''] = args
    if (!SHELLS.includes(shell)) throw new UsageError(`Completions exist for ${SHELLS.join(', ')}.`)
    const places = listPlaces(commands())
    const zsh = `autoload -Uz bashcompinit && bashcompinit\n${bash(places)}`
    const script = { bash: bash(places), zsh, fish: fish(places) }[shell] ?? ''
    show({ shell, script }, script)
  },
})
