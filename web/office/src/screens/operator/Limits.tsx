import { useState } from 'react'
import { type Body, call, type Schemas } from '../../api/call.ts'
import { useAction } from '../../api/hooks.ts'
import { useCan } from '../../api/session.ts'
import { changed } from '../../kit/changed.ts'
import { fromUnits, toUnits } from '../../kit/decimal.ts'
import { Check, Field, Form } from '../../kit/fields.tsx'
import { Dialog } from '../../kit/parts.tsx'
import { useCore, useTexts, wordFor } from '../../texts/lang.ts'
import { limitTexts } from './limit-texts.ts'

/** Basis points in a percent. */
const BPS = 100
const ROLES = ['SuperManager', 'Manager', 'Association', 'Service'] as const
type Company = Schemas['Company']
type Change = Body<'changeCompany'>
type Values = Record<string, string>

const percent = (bps: number): string => String(bps / BPS)

/** Only the roles whose limits were changed, because changing limits requires a fresh code. */
function refundLimitsOf(company: Company, values: Values): Pick<Change, 'refundLimits'> {
  const changed = ROLES.flatMap((role) => {
    const now = company.refundLimits[role]
    const single = values[`${role}-single`] ?? null
    const day = values[`${role}-day`] ?? null
    if (single === (now?.single ?? null) && day === (now?.day ?? null)) return []
    return [[role, single === null && day === null ? null : { single, day }] as const]
  })
  return changed.length === 0 ? {} : { refundLimits: Object.fromEntries(changed) }
}

/** Fields that only a SuperAdmin sets; others send none of them. */
const operatorFields = (values: Values): Change => ({
  maxOrderAmount: values.maxOrderAmount,
  feeBps: Math.round(Number(values.fee ?? 0) * BPS),
  settlementReserve: values.settlementReserve ?? '0',
  identityThresholdAmount: values.identityThresholdAmount,
  kycThreshold: values.kycThreshold ?? null,
  kycLimit: values.kycLimit ?? null,
  toleranceBps: Math.round(Number(values.tolerance ?? 0) * BPS),
  toleranceMaxUnits: String(toUnits(values.toleranceMax ?? '0')),
  refundApproval: values.refundApproval === 'yes',
  refundStepUpLimit: values.refundStepUpLimit,
})

/**
 * How much a company may sell and refund, what it pays for that, and from which amount its payers are checked. What a
 * colleague changes meanwhile stays as it is.
 */
export function Limits({ company: current, onClose }: { company: Company; onClose(): void }) {
  const [company] = useState(current)
  const t = useTexts(limitTexts)
  const core = useCore()
  const can = useCan()
  const isAdmin = can('companies.approve')
  const action = useAction({
    run: (values: Values) =>
      call('PUT /api/next/companies/{id}', {
        path: { id: company._id },
        body: { ...(isAdmin ? changed(company, operatorFields(values)) : {}), ...refundLimitsOf(company, values) },
      }),
    done: core.saved,
    onDone: onClose,
  })
  return (
    <Dialog title={core.pair(t.title, company.name)} onClose={onClose}>
      <Form
        button={core.save}
        isBusy={action.isPending}
        error={action.error}
        onSend={(values) => action.mutate(values)}
      >
        {isAdmin && (
          <>
            <OperatorFields company={company} />
            <CheckFields company={company} />
            <RefundRules company={company} />
          </>
        )}
        <RefundLimits company={company} isAdmin={isAdmin} />
      </Form>
    </Dialog>
  )
}

function OperatorFields({ company }: { company: Company }) {
  const t = useTexts(limitTexts)
  return (
    <>
      <div className="grid gap-x-4 sm:grid-cols-2">
        <Field label={t.max} name="maxOrderAmount" required kind="money" defaultValue={company.maxOrderAmount} />
        <Field label={t.fee} name="fee" required kind="money" defaultValue={percent(company.feeBps)} />
      </div>
      <div className="grid gap-x-4 sm:grid-cols-2">
        <Field
          label={t.tolerance}
          name="tolerance"
          required
          kind="money"
          hint={t.toleranceHint}
          defaultValue={percent(company.toleranceBps)}
        />
        <Field
          label={t.toleranceMax}
          name="toleranceMax"
          required
          kind="usdc"
          defaultValue={fromUnits(BigInt(company.toleranceMaxUnits))}
        />
      </div>
      <Field
        label={t.reserve}
        name="settlementReserve"
        kind="usdc"
        hint={t.reserveHint}
        defaultValue={company.settlementReserve}
      />
    </>
  )
}

/** From which amounts a payer must state, and prove, an identity. */
function CheckFields({ company }: { company: Company }) {
  const t = useTexts(limitTexts)
  const core = useCore()
  const optional = (word: string): string => `${word} (${core.optional})`
  return (
    <>
      <Field
        label={t.identity}
        name="identityThresholdAmount"
        required
        kind="money"
        hint={t.identityHint}
        defaultValue={company.identityThresholdAmount}
      />
      <div className="grid gap-x-4 sm:grid-cols-2">
        <Field
          label={optional(t.kyc)}
          name="kycThreshold"
          kind="money"
          hint={t.kycHint}
          defaultValue={company.kycThreshold ?? ''}
        />
        <Field
          label={optional(t.kycLimit)}
          name="kycLimit"
          kind="money"
          hint={t.kycLimitHint}
          defaultValue={company.kycLimit ?? ''}
        />
      </div>
    </>
  )
}

/** What holds for every refund, whoever makes it. */
function RefundRules({ company }: { company: Company }) {
  const t = useTexts(limitTexts)
  return (
    <>
      <Check label={t.approval} name="refundApproval" value="yes" defaultChecked={company.refundApproval} />
      <Field
        label={t.stepUp}
        name="refundStepUpLimit"
        required
        kind="usdc"
        hint={t.stepUpHint}
        defaultValue={company.refundStepUpLimit}
      />
    </>
  )
}

/** A SuperManager sets the limits of others, never their own. */
function RefundLimits({ company, isAdmin }: { company: Company; isAdmin: boolean }) {
  const t = useTexts(limitTexts)
  const core = useCore()
  return (
    <fieldset className="mb-2">
      <legend className="mb-1 font-semibold">{t.refunds}</legend>
      <p className="mb-3 text-[13px] text-soft">{t.refundsHint}</p>
      {ROLES.map((role) => {
        const isOwn = role === 'SuperManager' && !isAdmin
        const limits = company.refundLimits[role]
        return (
          <div key={role} className="grid gap-x-4 sm:grid-cols-2">
            {(['single', 'day'] as const).map((way) => (
              <Field
                key={way}
                label={core.pair(wordFor(core.roles, role), t[way])}
                name={`${role}-${way}`}
                kind="usdc"
                readOnly={isOwn}
                defaultValue={limits?.[way] ?? ''}
                placeholder={t.none}
              />
            ))}
          </div>
        )
      })}
    </fieldset>
  )
}
