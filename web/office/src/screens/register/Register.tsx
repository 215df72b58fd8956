import { Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { type Body, call } from '../../api/call.ts'
import { useAction } from '../../api/hooks.ts'
import { enter } from '../../api/session.ts'
import { Outside } from '../../frame/Outside.tsx'
import { Field, Form, Select } from '../../kit/fields.tsx'
import { useCore, useLang, useTexts, wordFor } from '../../texts/lang.ts'
import { texts } from './texts.ts'

const ROLES = ['Manager', 'Association', 'Cashier', 'Observer', 'SimpleUser'] as const
type Role = (typeof ROLES)[number]

/** Every role that may register itself; Cashier and Observer then wait for a manager of the company they name. */
export function Register() {
  const t = useTexts(texts)
  const core = useCore()
  const lang = useLang()
  const navigate = useNavigate()
  const [role, setRole] = useState<Role>('Manager')
  const action = useAction({
    run: async (values: Record<string, string>) => {
      const body = { ...values, role, origin: 'dashboard' } as unknown as Body<'register'>
      const { token } = await call('POST /api/next/auth/register', { body, query: { lang } })
      await enter(token)
      await navigate({ to: '/' })
    },
  })
  const needsCompany = role === 'Manager' || role === 'Cashier' || role === 'Observer'
  return (
    <Outside title={t.title} wide>
      <Form button={t.button} isBusy={action.isPending} error={action.error} onSend={(values) => action.mutate(values)}>
        <Select
          label={t.role}
          name="role"
          value={role}
          hint={t.roles[role]}
          options={ROLES.map((one) => [one, wordFor(core.roles, one)] as const)}
          onChange={(event) => setRole(event.target.value as Role)}
        />
        <div className="grid gap-x-4 sm:grid-cols-2">
          <Field label={t.firstName} name="firstName" autoComplete="given-name" required maxLength={60} />
          <Field label={t.lastName} name="lastName" autoComplete="family-name" required maxLength={60} />
        </div>
        {needsCompany && (
          <Field
            label={role === 'Manager' ? t.company : t.joinCompany}
            name="companyName"
            autoComplete="organization"
            required
            maxLength={120}
          />
        )}
        {role === 'Association' && <Field label={t.association} name="associationName" required maxLength={120} />}
        <Field label={t.email} name="email" type="email" autoComplete="email" required />
        <Field
          label={t.password}
          name="password"
          type="password"
          autoComplete="new-password"
          required
          minLength={12}
          maxLength={128}
          hint={t.passwordHint}
        />
      </Form>
      <p className="mt-5 text-sm">
        <Link to="/login" className="link">
          {t.known}
        </Link>
      </p>
    </Outside>
  )
}
