import type { Config } from './config.ts'
import { readKyc } from './kyc-config.ts'
import type { Vault } from './vault.ts'

/** What each imitation of a provider has to know, by its name; travels to the sandbox as one JSON text. */
export type SandboxCredentials = Record<string, Record<string, string>>

/** THROW-AWAY credentials of the imitations, from the master key, so that every node has the same. */
export function makeSandboxCredentials(vault: Vault, baseUrl: string): SandboxCredentials {
  const secret = (purpose: string): string => vault.derive(`sandbox-${purpose}`).toString('base64url')
  return {
    sumsub: {
      appToken: `sbx:${secret('sumsub-token')}`,
      secretKey: secret('sumsub-secret'),
      webhookSecret: secret('sumsub-webhook'),
      callbackUrl: `${baseUrl}/api/next/kyc/sumsub/callback`,
    },
  }
}

/** The variables with which the service reaches the imitations; what the operator gave wins. */
export function withImitations(config: Config, providersUrl: string, { sumsub = {} }: SandboxCredentials): Config {
  const provider = {
    KYC_SUMSUB_BASE_URL: `${providersUrl}/sumsub`,
    KYC_SUMSUB_SDK_URL: `${providersUrl}/sumsub/sdk.js`,
    KYC_SUMSUB_APP_TOKEN: sumsub.appToken ?? '',
    KYC_SUMSUB_SECRET_KEY: sumsub.secretKey ?? '',
    KYC_SUMSUB_WEBHOOK_SECRET: sumsub.webhookSecret ?? '',
    ...config.provider,
  }
  return { ...config, provider, kyc: readKyc(provider, false, []) }
}
