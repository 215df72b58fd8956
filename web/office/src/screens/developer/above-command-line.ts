/** A line of each program in `sdk/examples`; what follows reads a body from the command line. */
const COMMAND_LINE = /^(\/\/|#) ---- from the command line/m

/** The part of a program that belongs into a receiver: the rest would wait there for a body that never comes. */
export function aboveCommandLine(program: string): string {
  const [above = '', below] = program.split(COMMAND_LINE)
  if (below === undefined) throw new Error('no line says where the part for the command line begins')
  return `${above.trimEnd()}\n`
}
