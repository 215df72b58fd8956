import { integer, optional, optionalUrl } from '../setting.ts'

export const SANDBOX = {
  port: integer('SANDBOX_PORT', 'Port of the imitated providers; 0 picks a free one.', {
    ...{ fallback: '0', min: 0, max: 65_535 },
  }),
  chainPort: integer('CHAIN_PORT', 'Port of the sandbox chain; 0 picks a free one.', {
    ...{ fallback: '0', min: 0, max: 65_535 },
  }),
  providersUrl: optionalUrl('SANDBOX_PROVIDERS_URL', 'A sandbox that runs elsewhere; this process then starts none.'),
}

export const CRASH_POINT = optional('CRASH_POINT', 'Tests only: where this process dies.')
