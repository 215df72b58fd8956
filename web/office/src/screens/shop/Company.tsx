import { type Body, call, type Schemas } from '../../api/call.ts'
import { useAction, useApi } from '../../api/hooks.ts'
import { useCan } from '../../api/session.ts'
import { Check, Field, Form, Select } from '../../kit/fields.tsx'
import { Loaded, Panel } from '../../kit/parts.tsx'
import { useCore, useTexts } from '../../texts/lang.ts'
import { texts } from './texts.ts'

/** Basis points in a percent. */
const BPS = 100
type Change = Body<'changeCompany'>

/** Only what was changed is sent: a payout address that stays needs no fresh code. */
function changesOf(company: Schemas['Company'], values: Record<string, unknown>): Change {
  const entries = Object.entries(values).filter(
    ([name, value]) => String(value ?? '') !== String(company[name as keyof typeof company] ?? ''),
  )
  return Object.fromEntries(entries) as Change
}

export function Company({ companyId }: { companyId: string }) {
  const t = useTexts(texts)
  const path = { id: companyId }
  const company = useApi('GET /api/next/companies/{id}', { path })
  return (
    <>
      <Panel title={t.company}>
        <Loaded query={company}>{(data) => <Identity key={data.updatedAt} company={data} />}</Loaded>
      </Panel>
      <Panel title={t.policies}>
        <Loaded query={company}>{(data) => <Policies key={data.updatedAt} company={data} />}</Loaded>
      </Panel>
    </>
  )
}

function useChange(company: Schemas['Company']) {
  const core = useCore()
  return useAction({
    run: (values: Record<string, unknown>) =>
      call('PUT /api/next/companies/{id}', { path: { id: company._id }, body: changesOf(company, values) }),
    done: core.saved,
  })
}

function Identity({ company }: { company: Schemas['Company'] }) {
  const t = useTexts(texts)
  const core = useCore()
  const action = useChange(company)
  const onSend = ({ settlementNetwork, ...values }: Record<string, string>): void =>
    action.mutate({
      siret: null,
      country: null,
      settlementAddress: null,
      ...values,
      settlementNetwork: settlementNetwork ? Number(settlementNetwork) : null,
    })
  return (
    <Form button={core.save} isBusy={action.isPending} error={action.error} onSend={onSend}>
      <Field label={t.name} name="name" required maxLength={120} defaultValue={company.name} />
      <div className="grid gap-x-4 sm:grid-cols-2">
        <Field label={t.country} name="country" pattern="[A-Z]{2}" maxLength={2} defaultValue={company.country ?? ''} />
        <Field label={t.siret} name="siret" pattern="[0-9]{14}" maxLength={14} defaultValue={company.siret ?? ''} />
      </div>
      <Field
        label={t.address}
        name="settlementAddress"
        pattern="0x[0-9a-fA-F]{40}"
        spellCheck={false}
        defaultValue={company.settlementAddress ?? ''}
        hint={t.addressHint}
      />
      <Field
        label={t.network}
        name="settlementNetwork"
        inputMode="numeric"
        pattern="[0-9]+"
        defaultValue={company.settlementNetwork ?? ''}
      />
    </Form>
  )
}

function Policies({ company }: { company: Schemas['Company'] }) {
  const t = useTexts(texts)
  const core = useCore()
  const can = useCan()
  const action = useChange(company)
  const onSend = ({ toleranceBps, lateAcceptHours, refundApproval, ...values }: Record<string, string>): void =>
    action.mutate({
      ...values,
      ...(toleranceBps ? { toleranceBps: Math.round(Number(toleranceBps.replace(',', '.')) * BPS) } : {}),
      ...(lateAcceptHours ? { lateAcceptHours: Number(lateAcceptHours) } : {}),
      ...(can('companies.approve') ? { refundApproval: refundApproval === 'yes' } : {}),
    })
  return (
    <Form button={core.save} isBusy={action.isPending} error={action.error} onSend={onSend}>
      <Field
        label={t.tolerance}
        name="toleranceBps"
        inputMode="decimal"
        pattern="[0-9]+([.,][0-9]{1,2})?"
        required
        defaultValue={company.toleranceBps / BPS}
      />
      <Field
        label={t.late}
        name="lateAcceptHours"
        inputMode="numeric"
        pattern="[0-9]+"
        required
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
        label={t.identity}
        name="identityThresholdAmount"
        inputMode="decimal"
        pattern="[0-9]+(\.[0-9]{1,2})?"
        disabled={!can('companies.approve')}
        defaultValue={company.identityThresholdAmount}
      />
      <Check
        label={t.approval}
        name="refundApproval"
        value="yes"
        disabled={!can('companies.approve')}
        defaultChecked={company.refundApproval}
      />
    </Form>
  )
}
