import { isIP } from 'node:net'
import { flag, integer, list, optional, optionalInteger, type Setting, SettingFault } from '../setting.ts'
import { BACKUPS } from './backups.ts'

/** Monitoring, and the risks that the operator accepts. */
export const OPERATING = {
  metricsPort: optionalInteger(
    'METRICS_PORT',
    'Serves /metrics on a port of its own: with METRICS_TOKEN on HOST, without it on 127.0.0.1. Live needs one of the two.',
    {
      ...{ min: 1, max: 65_535 },
    },
  ),
  metricsToken: optional('METRICS_TOKEN', 'Bearer token for /metrics and for the details of /readyz.', {
    secret: true,
  }),
  operatorEmail: optional('OPERATOR_EMAIL', 'Receives alarms. Default: every SuperAdmin.'),
  acceptRisk: list('ACCEPT_RISK', 'Risks you take in live mode, by the names that a refused start prints.', null),
  auditAnchorFile: optional(
    'AUDIT_ANCHOR_FILE',
    'The head of the audit log is appended to this file. Keep the file where the database’s owner cannot write.',
  ),
  ...BACKUPS,
}

/** Requests per minute; 0 is off. */
export const LIMITS = {
  accountPerMinute: integer('LIMIT_ACCOUNT_PER_MINUTE', 'Logins, codes and resets for one account.', {
    ...{ fallback: '10', min: 0, max: 1_000_000 },
  }),
  addressPerMinute: integer('LIMIT_ADDRESS_PER_MINUTE', 'Logins, codes and resets from one address.', {
    ...{ fallback: '30', min: 0, max: 1_000_000 },
  }),
  publicPerMinute: integer(
    'LIMIT_PUBLIC_PER_MINUTE',
    'Public reads from one address, and as many invalid credentials. Reads for an active company count for that company.',
    {
      ...{ fallback: '600', min: 0, max: 1_000_000 },
    },
  ),
  companyPerMinute: integer('LIMIT_COMPANY_PER_MINUTE', 'Calls with a credential of one company.', {
    ...{ fallback: '6000', min: 0, max: 10_000_000 },
  }),
  pagePerMinute: integer(
    'LIMIT_PAGE_PER_MINUTE',
    'Pages that anyone opens (pay, refund, identity, account) from one address.',
    {
      ...{ fallback: '300', min: 0, max: 1_000_000 },
    },
  ),
  linkPerMinute: integer(
    'LIMIT_LINK_PER_MINUTE',
    'Orders that one address makes through static links and buy buttons; a link makes ten times as many for all addresses.',
    {
      ...{ fallback: '30', min: 0, max: 1_000_000 },
    },
  ),
  relayPerDay: integer(
    'LIMIT_RELAY_PER_DAY',
    'Payments by signature for which the relayer pays the gas, of one company in 24 hours.',
    { fallback: '2000', min: 0, max: 10_000_000 },
  ),
}

const privateRanges = list('WEBHOOK_ALLOWED_RANGES', 'Private address ranges that webhooks may go to.', {
  ...{ sandbox: '127.0.0.0/8,::1/128', live: null },
})

/** The sender would refuse such a range only after the migrations, and without the setting's name. */
function refuseRange(written: string): void {
  const [address = '', prefix = '', ...more] = written.split('/')
  const bits = { 0: -1, 4: 32, 6: 128 }[isIP(address)] ?? -1
  if (!/^\d{1,3}$/.test(prefix) || Number(prefix) > bits || more.length > 0)
    throw new SettingFault(`"${written}" is not an address range like 10.0.0.0/8`)
}

const allowedRanges: Setting<string[]> = {
  ...privateRanges,
  read(given) {
    const ranges = privateRanges.read(given)
    for (const range of ranges) refuseRange(range)
    return ranges
  },
}

export const WEBHOOKS = {
  allowedRanges,
  allowHttp: flag('WEBHOOK_ALLOW_HTTP', 'Webhooks may go to http:// addresses. Never in live mode.', {
    ...{ sandbox: 'true', live: 'false' },
  }),
}
