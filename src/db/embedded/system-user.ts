import { execFileSync } from 'node:child_process'
import { lchownSync, lstatSync, readdirSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** The account that runs PostgreSQL when Comptoir runs as root, which PostgreSQL refuses. */
export type Account = { uid: number; gid: number }

const isRoot = (): boolean => process.getuid?.() === 0

/** Undefined for unknown users and for root. initdb needs a user that the system knows by name. */
function lookUp(user: string): Account | undefined {
  try {
    const ask = (flag: string): number =>
      Number(execFileSync('id', [flag, user], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }))
    const uid = ask('-u')
    return uid === 0 ? undefined : { uid, gid: ask('-g') }
  } catch {
    return undefined
  }
}

function ownerOf(path: string): Account | undefined {
  const stat = statSync(path, { throwIfNoEntry: false })
  return stat === undefined || stat.uid === 0 ? undefined : { uid: stat.uid, gid: stat.gid }
}

/**
 * The user for the server: the owner of the existing cluster, then the owner of the data directory, then `postgres` or
 * `nobody`. Undefined for an ordinary user, who runs it directly.
 * @throws Error when this user may not use the cluster, or when root finds no other user
 */
export function chooseAccount(dataDir: string, clusterDir: string): Account | undefined {
  const clusterOwner = ownerOf(clusterDir)
  if (!isRoot()) {
    if (statSync(clusterDir, { throwIfNoEntry: false }) === undefined || clusterOwner?.uid === process.getuid?.())
      return undefined
    throw new Error(
      `The database in ${clusterDir} belongs to user number ${clusterOwner?.uid ?? 0}, not to you. Start Comptoir as the user who started it first.`,
    )
  }
  if (clusterOwner !== undefined) return clusterOwner
  const dataOwner = ownerOf(dataDir)
  const account = (dataOwner && lookUp(String(dataOwner.uid))) ?? lookUp('postgres') ?? lookUp('nobody')
  if (account !== undefined) return account
  throw new Error(
    'PostgreSQL does not run as root, and there is no user "postgres" or "nobody" here. Start Comptoir as an ordinary user, or set DATABASE_URL.',
  )
}

/** Gives a path and everything below it to the account; without an account it does nothing. */
export function giveTo(account: Account | undefined, path: string): void {
  if (account === undefined) return
  try {
    lchownSync(path, account.uid, account.gid)
    if (!lstatSync(path).isDirectory()) return
  } catch (error) {
    throw new Error(`Comptoir cannot give ${path} to user number ${account.uid}: ${(error as Error).message}`, {
      cause: error,
    })
  }
  for (const name of readdirSync(path)) giveTo(account, join(path, name))
}

/** By owner, group and mode; access lists are not looked at. @param bit of the owner: 0o100 to enter, 0o200 to write */
function allows(path: string, account: Account, bit: number): boolean {
  const { uid, gid, mode } = statSync(path)
  const shift = uid === account.uid ? 0 : gid === account.gid ? 3 : 6
  return (mode & (bit >> shift)) !== 0
}

/** Whether the account has access to every folder down to this one. */
export function canReach(account: Account | undefined, path: string): boolean {
  if (account === undefined) return true
  const parent = dirname(path)
  return allows(path, account, 0o100) && (parent === path || canReach(account, parent))
}

/** Whether the account may make files in this folder. */
export const canWriteIn = (account: Account | undefined, folder: string): boolean =>
  account === undefined || (canReach(account, folder) && allows(folder, account, 0o200))

/** For root, who looks at what the service does: the account that the data belong to, which is the service's. */
export const serviceAccount = (dataDir: string): Account | undefined => (isRoot() ? ownerOf(dataDir) : undefined)
