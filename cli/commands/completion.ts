import { type Command, UsageError } from '../command.ts'

const SHELLS = ['bash', 'zsh', 'fish']

const words = (commands: readonly Command[]): string[] => commands.map(({ name }) => name)

function bash(commands: readonly Command[]): string {
  const cases = commands
    .filter(({ subcommands }) => subcommands)
    .map(({ name, subcommands = [] }) => `    ${name}) words="${words(subcommands).join(' ')}" ;;`)
  return `_comptoir() {
  local words="${words(commands).join(' ')}"
  case "\${COMP_WORDS[1]}" in
${cases.join('\n')}
  esac
  [ "$COMP_CWORD" -le 2 ] && COMPREPLY=( $(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}") )
}
complete -o default -F _comptoir comptoir`
}

const fish = (commands: readonly Command[]): string =>
  commands
    .flatMap(({ name, summary, subcommands = [] }) => [
      `complete -c comptoir -n __fish_use_subcommand -a ${name} -d "${summary}"`,
      ...subcommands.map(
        (sub) => `complete -c comptoir -n "__fish_seen_subcommand_from ${name}" -a ${sub.name} -d "${sub.summary}"`,
      ),
    ])
    .join('\n')

/** @param commands a function, because the list contains this command itself */
export const openCompletion = (commands: () => readonly Command[]): Command => ({
  name: 'completion',
  summary: 'Print completions for a shell',
  takes: SHELLS.join('|'),
  arity: [1, 1],
  examples: ['source <(comptoir completion bash)'],
  async run({ args, show }) {
    const [shell = ''] = args
    if (!SHELLS.includes(shell)) throw new UsageError(`Completions exist for ${SHELLS.join(', ')}.`)
    const zsh = `autoload -Uz bashcompinit && bashcompinit\n${bash(commands())}`
    const script = { bash: bash(commands()), zsh, fish: fish(commands()) }[shell] ?? ''
    show({ shell, script }, script)
  },
})
