import { type ProcessScope, readProcessScope } from '../../kernel/process/process-scope.ts'

/** The scope in which process ids are comparable, as text; unknown parts are left out. */
export const thisMachine = ({ host, boot, pidNamespace }: ProcessScope = readProcessScope()): string =>
  [host, boot, pidNamespace.replaceAll(/\D/g, '')].filter((part) => part !== '').join(' ')

/** The name of a sender: stable across restarts, different on each machine. */
export const nodeNameOf = (machine: string, port: number): string => {
  const [host = '', boot = ''] = machine.split(' ')
  return [host, port, boot.slice(0, 8)].filter((part) => part !== '').join(':')
}
