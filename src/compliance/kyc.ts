import { DAY } from '../kernel/clock.ts'

export const KYC_STATUSES = ['pending', 'approved', 'refused'] as const
export type KycStatus = (typeof KYC_STATUSES)[number]

/** Enhanced due diligence (EDD), required for a higher spending limit. */
export const EDD_STATUSES = ['none', 'requested', 'pending', 'completed'] as const
export type EddStatus = (typeof EDD_STATUSES)[number]

/** What a person may do with a check; `grantLimit`: name the limit when asking for EDD. */
export const KYC_ACTIONS = ['approve', 'refuse', 'requestEdd', 'grantLimit', 'completeEdd'] as const
export type KycAction = (typeof KYC_ACTIONS)[number]

/** What changed a check: a person by a verb, a provider by the state that it left. */
export const KYC_TRIGGERS = [
  'ask',
  'approve',
  'refuse',
  'requestEdd',
  'completeEdd',
  ...KYC_STATUSES,
  'edd.none',
  'edd.requested',
  'edd.pending',
  'edd.completed',
] as const
export type KycTrigger = (typeof KYC_TRIGGERS)[number]

export type EddOutcome = 'approved' | 'refused'

/** How a check stands. Limits are decimal text in EUR. */
export type KycState = {
  status: KycStatus
  eddStatus: EddStatus
  /** Of a completed EDD; a refusal stays while the next one is open. So does its `spendingLimit`. */
  eddOutcome: EddOutcome | null
  /** What the payer may spend in 30 days since EDD was completed. */
  spendingLimit: string | null
}

/** The identity check of one payer of one company. */
export type Kyc = KycState & {
  companyId: string
  /** Also the provider's externalUserId. */
  id: string
  /** HMAC of the payer's normalised e-mail, hex. */
  payerKey: string
  /** Null: erased. */
  emailSealed: string | null
  provider: 'manual' | 'sumsub'
  /** The limit granted when the provider approves EDD; null: a SuperAdmin sets it then. */
  eddLimit: string | null
  applicantId: string | null
  /** True before the first create call: without an answer, an applicant may exist at the provider. */
  creationTried: boolean
  /** What the provider wants the payer to know. */
  payerMessage: string | null
  providerStatus: string | null
  /** The order whose payer started it; null: of an earlier version. */
  firstOrderId: string | null
  /** When its mailed link first led into the check; null: never. */
  mailOpenedAt: Date | null
  checks: number
  nextCheckAt: Date | null
  version: number
  createdAt: Date
  updatedAt: Date
}

export const isEddAsked = ({ eddStatus }: KycState): boolean => eddStatus === 'requested' || eddStatus === 'pending'

/** Can the payer still act on this check, or is a decision pending? */
export const isOpenCheck = (kyc: KycState): boolean => kyc.status === 'pending' || isEddAsked(kyc)

/** Polling slows down for an abandoned check; its page and every callback resume it. */
export const PATIENCE_MS = 30 * DAY

/** The check that the payer must pass now; null: none. */
export function askedLevel(kyc: KycState): 'basic' | 'enhanced' | null {
  if (kyc.status === 'pending') return 'basic'
  return kyc.status === 'approved' && isEddAsked(kyc) ? 'enhanced' : null
}

/**
 * When a decision is read again at its provider: every day, and at most once in a thirtieth of its age, so that old
 * ones do not add up. A payer who comes back is read sooner.
 */
export const nextReading = (decidedAt: Date, nowMs: number): Date =>
  new Date(nowMs + Math.max(DAY, (nowMs - decidedAt.getTime()) / 30))
