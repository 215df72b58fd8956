import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'

/** The scope in which process ids are comparable: one boot of one machine, and one container in it. '' is unknown. */
export type ProcessScope = { host: string; boot: string; pidNamespace: string }

const readOr = (what: () => string): string => {
  try {
    return what().trim()
  } catch {
    return '' // not Linux, or no /proc
  }
}

/**
 * Two machines may have the same host name, and each container has a process 1. proc_sys_kernel_random(5),
 * pid_namespaces(7)
 * @param proc where the kernel's files are; a test passes another directory
 */
export const readProcessScope = (proc = '/proc'): ProcessScope => ({
  host: hostname(),
  boot: readOr(() => readFileSync(`${proc}/sys/kernel/random/boot_id`, 'utf8')),
  pidNamespace: readOr(() => readlinkSync(`${proc}/self/ns/pid`)),
})
