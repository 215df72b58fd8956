import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'

const read = (how: () => string): string => {
  try {
    return how().trim()
  } catch {
    return '' // not Linux
  }
}

/**
 * Where process ids mean the same: this boot of this machine, and the container in it. Two machines may have one host
 * name, and each container has a process 1. proc_sys_kernel_random(5), pid_namespaces(7)
 */
export const thisMachine = (): string => {
  const boot = read(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8'))
  const namespace = read(() => readlinkSync('/proc/self/ns/pid')).replaceAll(/\D/g, '')
  return [hostname(), boot, namespace].filter((part) => part !== '').join(' ')
}

/** The name of a sender: the same after a restart, another one on each machine. */
export const nodeNameOf = (machine: string, port: number): string => {
  const [host = '', boot = ''] = machine.split(' ')
  return [host, port, boot.slice(0, 8)].filter((part) => part !== '').join(':')
}
