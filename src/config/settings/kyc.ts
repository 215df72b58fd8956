import { choice, optional, optionalUrl, text } from '../setting.ts'

/** Read by `kyc-config.ts`, which also checks combinations. */
export const KYC = {
  provider: choice(
    'KYC_PROVIDER',
    'manual: decided in the back office. sumsub: the default once its settings are given.',
    {
      ...{ fallback: 'manual', of: ['manual', 'sumsub'] as const },
    },
  ),
  baseUrl: optionalUrl('KYC_SUMSUB_BASE_URL', 'Everything before /resources, for example https://api.sumsub.com.'),
  appToken: optional('KYC_SUMSUB_APP_TOKEN', 'App token of the Sumsub account.', { secret: true }),
  secretKey: optional('KYC_SUMSUB_SECRET_KEY', 'Secret of the app token.', { secret: true }),
  webhookSecret: optional('KYC_SUMSUB_WEBHOOK_SECRET', 'Secret that signs Sumsub’s callbacks.', { secret: true }),
  level: text('KYC_SUMSUB_LEVEL', 'Name of the level for the usual check.', 'basic-kyc-level'),
  eddLevel: text('KYC_SUMSUB_EDD_LEVEL', 'Name of the level for the enhanced check.', 'enhanced-kyc-level'),
  sdkUrl: text(
    'KYC_SUMSUB_SDK_URL',
    'Script of the WebSDK.',
    'https://static.sumsub.com/idensic/static/sns-websdk-builder.js',
  ),
}
