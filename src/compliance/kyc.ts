export const KYC_STATUSES = ['pending', 'approved', 'refused'] as const
export type KycStatus = (typeof KYC_STATUSES)[number]

/** Enhanced due diligence: the closer look that a higher spending limit needs. */
export const EDD_STATUSES = ['none', 'requested', 'pending', 'completed'] as const
export type EddStatus = (typeof EDD_STATUSES)[number]

export type EddOutcome = 'approved' | 'refused'

/** How a check stands. Limits are decimal text in EUR. */
export type KycState = {
  status: KycStatus
  eddStatus: EddStatus
  /** Only when `eddStatus` is completed, as is `spendingLimit`. */
  eddOutcome: EddOutcome | null
  /** What the payer may spend in 30 days since the closer look. */
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
  /** The limit that holds once the provider approves the closer look; null: a SuperAdmin says it then. */
  eddLimit: string | null
  applicantId: string | null
  /** An applicant may exist at the provider although its answer never came. */
  creationTried: boolean
  /** What the provider wants the payer to know. */
  payerMessage: string | null
  lastWords: string | null
  checks: number
  nextCheckAt: Date | null
  version: number
  createdAt: Date
  updatedAt: Date
}

/** Is there something that a payer can still do, or that somebody still decides? */
export const isOpenCheck = ({ status, eddStatus }: KycState): boolean =>
  status === 'pending' || eddStatus === 'requested' || eddStatus === 'pending'

/** Which check the payer is asked to go through; null: none. */
export function askedLevel({ status, eddStatus }: KycState): 'basic' | 'enhanced' | null {
  if (status === 'pending') return 'basic'
  return status === 'approved' && (eddStatus === 'requested' || eddStatus === 'pending') ? 'enhanced' : null
}
