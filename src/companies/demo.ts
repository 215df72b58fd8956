import type { Db } from '../db/db.ts'
import type { SandboxVault } from '../kernel/vault.ts'
import { type DemoRows, findDemoSecrets, hasDemoUsers, insertDemo, insertDemoUsers } from './demo-queries.ts'

/**
 * Credentials for trying the sandbox, derived from the master key of its first start and so the same on every node.
 */
export type DemoCredentials = {
  manager: { email: string; password: string }
  superAdmin: { email: string; password: string }
  /** Null, and its secret: it was revoked. */
  apiKey: string | null
  apiSecret: string | null
  merchantIdentifier: string
  webhookSigningSecret: string
}

/** As the first start makes them. */
function demoCredentials(vault: SandboxVault) {
  const secret = (purpose: string, bytes: number): string =>
    vault.deriveSandbox(`demo:${purpose}`).subarray(0, bytes).toString('base64url')
  return {
    manager: { email: 'manager@demo.invalid', password: `Demo-${secret('manager', 9)}-1a` },
    superAdmin: { email: 'operator@demo.invalid', password: `Demo-${secret('super-admin', 9)}-1a` },
    apiKey: `pk_${secret('api-key', 12)}`,
    apiSecret: `sk_${secret('api-secret', 32)}`,
    merchantIdentifier: 'TILL-1',
    webhookSigningSecret: `whsec_${vault.deriveSandbox('demo:webhook').toString('base64')}`,
  }
}

const demoId = (vault: SandboxVault, purpose: string): string =>
  vault.deriveSandbox(`demo-id:${purpose}`).toString('hex').slice(0, 24)

/** The buy button that the demo shop shows. */
export const demoButtonId = (vault: SandboxVault): string => demoId(vault, 'button')

const secretContext = (companyId: string): string => `company:${companyId}:webhook-secret`

/** The demo's credentials as they are now: a person may have changed the webhook secret, or revoked the API key. */
export async function readDemo({ db, vault }: { db: Db; vault: SandboxVault }): Promise<DemoCredentials> {
  const made = demoCredentials(vault)
  const [companyId, apiKeyId] = [demoId(vault, 'company'), demoId(vault, 'api-key')]
  const found = await findDemoSecrets(db, { companyId, apiKeyId })
  if (!found) return made
  const webhookSigningSecret = vault.open(found.webhookSecretSealed, secretContext(companyId))
  return { ...made, webhookSigningSecret, ...(!found.hasApiKey && { apiKey: null, apiSecret: null }) }
}

/** Creates the demo merchant, once per database. */
export async function makeDemo(deps: {
  db: Db
  vault: SandboxVault
  hashPassword: (password: string) => Promise<string>
  hashApiSecret: (secret: string) => string
  scopes: readonly string[]
  /** The demo shop is a page of the service itself. */
  baseUrl: string
}): Promise<DemoCredentials> {
  const { db, vault, hashPassword } = deps
  const credentials = demoCredentials(vault)
  const id = (purpose: string): string => demoId(vault, purpose)
  const companyId = id('company')
  const rows: DemoRows = {
    companyId,
    salesPointId: id('sales-point'),
    collectorId: id('collector'),
    apiKeyId: id('api-key'),
    webhookSecretSealed: vault.seal(credentials.webhookSigningSecret, secretContext(companyId)),
    merchantIdentifier: credentials.merchantIdentifier,
    apiKey: credentials.apiKey,
    apiSecretHash: deps.hashApiSecret(credentials.apiSecret),
    scopes: deps.scopes,
    buttonId: demoButtonId(vault),
    baseUrl: new URL(deps.baseUrl).origin,
  }
  await insertDemo(db, rows)
  const users = { managerId: id('manager'), superAdminId: id('super-admin') }
  // two hashes take a tenth of a start, and each of several processes starts
  if (await hasDemoUsers(db, Object.values(users))) return readDemo(deps)
  await insertDemoUsers(db, {
    ...{ companyId, ...users },
    managerEmail: credentials.manager.email,
    managerPasswordHash: await hashPassword(credentials.manager.password),
    superAdminEmail: credentials.superAdmin.email,
    superAdminPasswordHash: await hashPassword(credentials.superAdmin.password),
  })
  return readDemo(deps)
}
