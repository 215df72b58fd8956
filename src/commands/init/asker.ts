import { createInterface } from 'node:readline/promises'
import { UsageError } from '../command.ts'

/** A value that init needs: from a flag, or asked. */
export type Question = {
  /** Without the dashes. */
  flag: string
  text: string
  /** Shown in brackets and used for an empty answer. Absent: an answer is required. */
  fallback?: string
  /** Parses the answer. @throws Error with a sentence */
  read?(answer: string): string
}

export type Asker = {
  ask(question: Question): Promise<string>
  /** @returns true for yes; without a terminal, what the flag says */
  confirm(text: string, flag: string): Promise<boolean>
  say(line: string): void
  /** Required flags that are missing, when there is no terminal. */
  readonly missing: string[]
  close(): void
}

export type Flags = Readonly<Record<string, string | undefined>>

/** Suggests earlier answers, by flag. */
export const withEarlier = (asker: Asker, earlier: Flags): Asker => ({
  ...asker,
  ask(question) {
    const fallback = earlier[question.flag] || question.fallback
    return asker.ask(fallback === undefined ? question : { ...question, fallback })
  },
})

/** Passwords are not shown. */
const shown = (fallback: string): string => fallback.replace(/:\/\/[^@/]*@/, '://…@') || 'none'

const plainRead = (answer: string): string => answer

/** Reads flags only. Missing ones are collected, so that all are reported at once. */
export function flagsOnly(flags: Flags, confirmed: ReadonlySet<string>, say: (line: string) => void): Asker {
  const missing: string[] = []
  return {
    missing,
    say,
    async ask({ flag, fallback, read = plainRead }) {
      const answer = flags[flag] ?? fallback
      if (answer === undefined) {
        missing.push(`--${flag}`)
        return ''
      }
      return readFlag(flag, answer, read)
    },
    async confirm(_text, flag) {
      return confirmed.has(flag)
    },
    close() {},
  }
}

function readFlag(flag: string, answer: string, read: (answer: string) => string): string {
  try {
    return answer === '' ? '' : read(answer)
  } catch (error) {
    throw new UsageError(`--${flag}: ${(error as Error).message}`)
  }
}

/** Asks at a terminal for whatever no flag sets; explains a wrong answer and asks again. */
export function atTerminal(flags: Flags, say: (line: string) => void): Asker {
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  const askOnce = async ({ text, fallback }: Question): Promise<string> => {
    const hint = fallback === undefined ? '' : ` [${shown(fallback)}]`
    return (await terminal.question(`${text}${hint}: `)).trim()
  }
  return {
    missing: [],
    say,
    async ask(question) {
      const { flag, fallback, read = plainRead } = question
      const given = flags[flag]
      if (given !== undefined) return readFlag(flag, given, read)
      for (;;) {
        const answer = (await askOnce(question)) || fallback
        if (answer === '') return ''
        if (answer === undefined) continue
        try {
          return read(answer)
        } catch (error) {
          say(`  ${(error as Error).message}`)
        }
      }
    },
    async confirm(text) {
      return /^y(es)?$/i.test((await terminal.question(`${text} (yes/no): `)).trim())
    },
    close: () => terminal.close(),
  }
}
