import { optional, optionalUrl } from '../setting.ts'

/** Read by `kyt-config.ts`, which also checks combinations. */
export const KYT = {
  denyListFile: optional(
    'KYT_DENY_LIST_FILE',
    'A file of addresses that nothing is taken from and nothing is sent to, one a line, # for comments; read again when it changes.',
    { example: '/etc/comptoir/deny-list.txt' },
  ),
  sanctionsUrl: optionalUrl(
    'KYT_CHAINALYSIS_BASE_URL',
    'Public sanctions API of Chainalysis: everything before /address. Default: https://public.chainalysis.com/api/v1.',
    { example: 'https://public.chainalysis.com/api/v1' },
  ),
  sanctionsKey: optional('KYT_CHAINALYSIS_API_KEY', 'Its key; setting it turns the source on.', { secret: true }),
  riskUrl: optionalUrl(
    'KYT_CHAINALYSIS_RISK_BASE_URL',
    'Address Screening of Chainalysis (paid): everything before /api/risk. Default: https://api.chainalysis.com.',
    { example: 'https://api.chainalysis.com' },
  ),
  riskToken: optional('KYT_CHAINALYSIS_RISK_TOKEN', 'Its token; setting it turns the source on.', { secret: true }),
  trmUrl: optionalUrl('KYT_TRM_BASE_URL', 'TRM Labs: everything before /public. Default: https://api.trmlabs.com.', {
    example: 'https://api.trmlabs.com',
  }),
  trmKey: optional('KYT_TRM_API_KEY', 'Its key; setting it turns the source on.', { secret: true }),
}

/** One contract per chain. @param id a chain id */
const oracleSetting = (id: string) =>
  optional(
    `KYT_ORACLE_${id}`,
    'Sanctions oracle of Chainalysis on a chain that is set up, by chain id: the address of its contract.',
    { example: '0x40C57923924B5c5c5455c48D93317139ADDaC8fb' },
  )

export const ORACLE_EXAMPLE = { oracle: oracleSetting('1') }
