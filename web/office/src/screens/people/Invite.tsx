import { useState } from 'react'
import { ApiError, type Body, call } from '../../api/call.ts'
import { useAction } from '../../api/hooks.ts'
import { OneCompany, useCompanyKind, useCompanyQuery } from '../../frame/company.tsx'
import { Field, Form, Select } from '../../kit/fields.tsx'
import { Dialog } from '../../kit/parts.tsx'
import { useCore, useLang, useTexts, wordFor } from '../../texts/lang.ts'
import { rolesOf } from './roles.ts'
import { texts } from './texts.ts'

export function Invite({ onClose }: { onClose(): void }) {
  const t = useTexts(texts)
  const core = useCore()
  const lang = useLang()
  const kind = useCompanyKind()
  const company = useCompanyQuery()
  const [role, setRole] = useState<string>('Cashier')
  const action = useAction({
    run: (values: Record<string, string>) =>
      call('POST /api/next/users', { body: { ...values, ...company, lang } as unknown as Body<'inviteUser'> }).catch(
        (error: unknown) => {
          // the usual text for this refusal addresses the owner of the address
          throw error instanceof ApiError && error.code === 'EMAIL_ALREADY_REGISTERED' ? new Error(t.taken) : error
        },
      ),
    done: t.invited,
    onDone: onClose,
  })
  return (
    <Dialog title={t.invite} onClose={onClose}>
      <OneCompany>
        {() => (
          <Form
            button={t.send}
            isBusy={action.isPending}
            error={action.error}
            onSend={(values) => action.mutate(values)}
          >
            <p className="mb-4 text-soft">{t.inviteText}</p>
            <div className="grid gap-x-4 sm:grid-cols-2">
              <Field label={t.firstName} name="firstName" required maxLength={60} />
              <Field label={t.lastName} name="lastName" required maxLength={60} />
            </div>
            <Field label={t.email} name="email" type="email" required />
            <Select
              label={t.role}
              name="role"
              value={role}
              hint={wordFor(t.means, role)}
              options={rolesOf(kind).map((one) => [one, wordFor(core.roles, one)] as const)}
              onChange={(event) => setRole(event.target.value)}
            />
          </Form>
        )}
      </OneCompany>
    </Dialog>
  )
}
