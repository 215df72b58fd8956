import { useState } from 'react'
import { type Body, call, type User } from '../../api/call.ts'
import { useAction, useApi, useWhole } from '../../api/hooks.ts'
import { useCan } from '../../api/session.ts'
import { withChanges } from '../../kit/changed.ts'
import { Check, Form, Select } from '../../kit/fields.tsx'
import { Offers } from '../../kit/lists.tsx'
import { Dialog, Loaded, Refusal } from '../../kit/parts.tsx'
import { useCore, useTexts, wordFor } from '../../texts/lang.ts'
import { rolesOf } from './roles.ts'
import { texts } from './texts.ts'
import { waits } from './waits.ts'

type Ask = 'disable' | 'changeRole' | 'reset' | 'companies'

export function PersonActions({ user }: { user: User }) {
  const t = useTexts(texts)
  const core = useCore()
  const can = useCan()
  const [ask, setAsk] = useState<Ask | null>(null)
  const path = { id: user._id }
  const approve = useAction({ run: () => call('POST /api/next/users/{id}/approve', { path }), done: t.approved })
  const enable = useAction({
    run: () => call('PUT /api/next/users/{id}', { path, body: { disabled: false } }),
    done: t.done,
    undo: { word: core.undo, run: () => call('PUT /api/next/users/{id}', { path, body: { disabled: true } }) },
  })
  const invite = useAction({
    run: () => {
      const { email, firstName, lastName, role, lang, company } = user
      const body = { email, firstName, lastName, role, lang, ...(company && { companyId: company._id }) }
      return call('POST /api/next/users', { body: body as Body<'inviteUser'> })
    },
    isAnew: true,
    done: t.invited,
  })
  const isStaff = ['Manager', 'Association', 'Cashier', 'Observer'].includes(user.role)
  const offers: [Ask, boolean][] = [
    ['changeRole', can('users.change') && isStaff],
    ['disable', can('users.change') && !user.disabled],
    ['reset', can('users.resetTwoFactor') && user.authenticatorEnabled],
    ['companies', can('users.companies') && user.role === 'SuperManager'],
  ]
  return (
    <div className="mt-3">
      <Refusal error={approve.error ?? enable.error ?? invite.error} />
      <Offers offers={offers} words={t} onAsk={setAsk}>
        {waits(user) && can('users.approve') && (
          <button type="button" className="btn btn-fill" onClick={() => approve.mutate(undefined)}>
            {t.approve}
          </button>
        )}
        {user.invited && !user.disabled && can('users.invite') && (
          <button type="button" className="btn" disabled={invite.isPending} onClick={() => invite.mutate(undefined)}>
            {t.again}
          </button>
        )}
        {user.disabled && can('users.change') && (
          <button type="button" className="btn" onClick={() => enable.mutate(undefined)}>
            {t.enable}
          </button>
        )}
      </Offers>
      {ask === 'companies' && <Companies user={user} onClose={() => setAsk(null)} />}
      {ask && ask !== 'companies' && <AskDialog ask={ask} user={user} onClose={() => setAsk(null)} />}
    </div>
  )
}

type AskProps = { ask: Exclude<Ask, 'companies'>; user: User; onClose(): void }

/** Undoes the change: the person may log in, or has the role, again. */
const putBack = (user: User, ask: 'disable' | 'changeRole') =>
  call('PUT /api/next/users/{id}', {
    path: { id: user._id },
    body: (ask === 'disable' ? { disabled: false } : { role: user.role }) as Body<'changeUser'>,
  })

function AskDialog({ ask, user, onClose }: AskProps) {
  const t = useTexts(texts)
  const core = useCore()
  const path = { id: user._id }
  const offered = rolesOf(user.company?.kind ?? 'company')
  const action = useAction({
    run: (values: Record<string, string>): Promise<unknown> => {
      if (ask === 'reset') return call('POST /api/next/users/{id}/reset-2fa', { path })
      const body = ask === 'disable' ? { disabled: true } : (values as Body<'changeUser'>)
      return call('PUT /api/next/users/{id}', { path, body })
    },
    done: t.done,
    // a removed factor cannot be restored, nor do a cashier's tills come back with the role; nor is a role given again
    // that the kind of the company does not have
    ...(ask === 'reset' || (ask === 'changeRole' && (user.role === 'Cashier' || !offered.includes(user.role)))
      ? {}
      : { undo: { word: core.undo, run: () => putBack(user, ask) } }),
    onDone: onClose,
  })
  // the list begins at the present role, also where the kind does not have it: an older invitation gave it
  const roles = new Set([...offered, user.role])
  return (
    <Dialog title={t[ask]} onClose={onClose}>
      <Form
        button={t[ask]}
        tone={ask === 'changeRole' ? 'fill' : 'bad'}
        isBusy={action.isPending}
        error={action.error}
        onSend={(values) => action.mutate(values)}
      >
        {ask === 'disable' && <p className="mb-4">{t.disableText(user.firstName)}</p>}
        {ask === 'reset' && <p className="mb-4">{t.resetText(user.firstName)}</p>}
        {ask === 'changeRole' && (
          <Select
            label={t.role}
            name="role"
            defaultValue={user.role}
            options={[...roles].map((one) => [one, wordFor(core.roles, one)] as const)}
          />
        )}
      </Form>
    </Dialog>
  )
}

function Companies({ user, onClose }: { user: User; onClose(): void }) {
  const t = useTexts(texts)
  const core = useCore()
  const path = { id: user._id }
  const attached = useApi('GET /api/next/users/{id}/companies', { path })
  const all = useWhole('GET /api/next/companies', {})
  const action = useAction({
    run: async ({ shown, wanted }: { shown: string[]; wanted: string[] }) => {
      const now = await call('GET /api/next/users/{id}/companies', { path })
      const companies = withChanges(now.companies, shown, wanted)
      return call('PUT /api/next/users/{id}/companies', { path, body: { companies } })
    },
    done: core.saved,
    onDone: onClose,
  })
  return (
    <Dialog title={t.companies} onClose={onClose}>
      <p className="mb-4 text-soft">{t.companiesText}</p>
      <Loaded query={attached}>
        {(mine) => (
          <Loaded query={all}>
            {(page) => (
              <Form
                key={mine.companies.join()}
                button={core.save}
                isBusy={action.isPending}
                error={action.error}
                onSend={(values) => {
                  // a company that the cached list does not know has no box
                  const shown = mine.companies.filter((id) => page.companies.some(({ _id }) => _id === id))
                  action.mutate({ shown, wanted: Object.keys(values) })
                }}
              >
                {page.companies.map(({ _id, name }) => (
                  <Check key={_id} name={_id} value="on" label={name} defaultChecked={mine.companies.includes(_id)} />
                ))}
              </Form>
            )}
          </Loaded>
        )}
      </Loaded>
    </Dialog>
  )
}
