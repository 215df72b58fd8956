import type { Schemas } from '../../api/call.ts'
import { useApi } from '../../api/hooks.ts'
import { fromUnits } from '../../kit/decimal.ts'
import { Field, Form, Select } from '../../kit/fields.tsx'
import { formatMoney, formatNumber } from '../../kit/format.ts'
import { Facts, Loaded, Money, Panel } from '../../kit/parts.tsx'
import { useCore, useLang, useTexts, wordFor } from '../../texts/lang.ts'
import { keyOf, useChange } from './change.ts'
import { ruleTexts } from './rule-texts.ts'

/** Basis points in a percent. */
const BPS = 100
type Company = Schemas['Company']
const OWN = ['lateAcceptHours', 'lateAfterCancel', 'requoteHours', 'linkQuoteMinutes'] as const

/** What happens to late payments, underpayments and refunds, and the settings of the operator. */
export function Rules({ companyId }: { companyId: string }) {
  const t = useTexts(ruleTexts)
  const company = useApi('GET /api/next/companies/{id}', { path: { id: companyId } })
  return (
    <Loaded query={company}>
      {(data) => (
        <div className="grid items-start gap-x-5 lg:grid-cols-2">
          <Panel title={t.own}>
            <Own key={keyOf(data, OWN)} company={data} />
          </Panel>
          <Panel title={t.operator}>
            <p className="mb-3 text-sm text-soft">{t.operatorText}</p>
            <Operators company={data} />
          </Panel>
        </div>
      )}
    </Loaded>
  )
}

function Own({ company }: { company: Company }) {
  const t = useTexts(ruleTexts)
  const core = useCore()
  const action = useChange(company)
  const onSend = ({ linkQuoteMinutes, lateAfterCancel, ...hours }: Record<string, string>): void =>
    action.mutate({
      ...Object.fromEntries(Object.entries(hours).map(([name, value]) => [name, Number(value)])),
      linkQuoteMinutes: linkQuoteMinutes ? Number(linkQuoteMinutes) : null,
      lateAfterCancel,
    })
  return (
    <Form
      isGuarded
      button={core.save}
      isBusy={action.isPending}
      isSaved={action.isDone}
      error={action.error}
      onSend={onSend}
    >
      <Field
        label={t.late}
        name="lateAcceptHours"
        kind="whole"
        required
        hint={t.lateHint}
        defaultValue={company.lateAcceptHours}
      />
      <Select
        label={t.lateCancel}
        name="lateAfterCancel"
        defaultValue={company.lateAfterCancel}
        options={[
          ['accept', t.lateAccept],
          ['hold', t.lateHold],
        ]}
      />
      <Field
        label={t.requote}
        name="requoteHours"
        kind="whole"
        required
        hint={t.requoteHint}
        defaultValue={company.requoteHours}
      />
      <Field
        label={`${t.quote} (${core.optional})`}
        name="linkQuoteMinutes"
        kind="whole"
        hint={t.quoteHint}
        defaultValue={company.linkQuoteMinutes ?? ''}
      />
    </Form>
  )
}

function Operators({ company }: { company: Company }) {
  const t = useTexts(ruleTexts)
  const core = useCore()
  const lang = useLang()
  const { refundLimits } = company
  const percent = (bps: number): string => `${formatNumber(lang, String(bps / BPS))} %`
  const toleranceMax = fromUnits(BigInt(company.toleranceMaxUnits))
  const eur = (amount: string | null): React.ReactNode =>
    amount === null ? t.never : <Money amount={amount} asset="EUR" />
  const limits = Object.entries(refundLimits).map(([role, limit]): [string, React.ReactNode] => [
    t.refundLimit(wordFor(core.roles, role)),
    [limit?.single && t.single(limit.single), limit?.day && t.day(limit.day)].filter(Boolean).join(', '),
  ])
  return (
    <Facts
      rows={[
        [t.fee, percent(company.feeBps)],
        [t.max, <Money key="max" amount={company.maxOrderAmount} asset="EUR" />],
        [t.tolerance, t.atMost(percent(company.toleranceBps), formatMoney(lang, toleranceMax, 'USDC'))],
        [t.reserve, <Money key="reserve" amount={company.settlementReserve} asset="USDC" />],
        [t.identity, eur(company.identityThresholdAmount)],
        [t.kyc, eur(company.kycThreshold)],
        [t.approval, company.refundApproval ? t.yes : t.no],
        // an older node does not say
        ...(company.refundStepUpLimit === undefined
          ? []
          : ([[t.stepUp, <Money key="stepUp" amount={company.refundStepUpLimit} asset="USDC" />]] as [
              string,
              React.ReactNode,
            ][])),
        ...limits,
      ]}
    />
  )
}
