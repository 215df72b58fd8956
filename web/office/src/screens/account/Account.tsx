import { type Body, call } from '../../api/call.ts'
import { useAction, useApi } from '../../api/hooks.ts'
import { readProfile, useCan, useSession } from '../../api/session.ts'
import { SchemeChoice } from '../../frame/Settings.tsx'
import { browserName } from '../../kit/browser-name.ts'
import { Check, Field, Form, Select } from '../../kit/fields.tsx'
import { Badge, Facts, Loaded, Page, Panel, Refusal, Time } from '../../kit/parts.tsx'
import { LANG_NAMES, LANGS, useCore, useTexts, wordFor } from '../../texts/lang.ts'
import { Factor } from './Factor.tsx'
import { Passkeys } from './Passkeys.tsx'
import { Pin } from './Pin.tsx'
import { texts } from './texts.ts'

export function Account() {
  const t = useTexts(texts)
  const can = useCan()
  return (
    <Page title={t.title} actions={<SchemeChoice />}>
      <div className="grid items-start gap-x-5 lg:grid-cols-2">
        <div>
          <Profile />
          <Password />
        </div>
        <div>
          <Factor />
          <Passkeys />
          {can('tillPins.read') && <Pin />}
          <Sessions />
        </div>
      </div>
    </Page>
  )
}

/** Who works inside one company, and may hear of its sales. */
const isOfCompany = (role: string): boolean => ['Manager', 'Association', 'Cashier', 'Observer'].includes(role)

function Profile() {
  const t = useTexts(texts)
  const core = useCore()
  const { user } = useSession()
  const action = useAction({
    run: async (body: Body<'changeMe'>) => {
      await call('PUT /api/next/users/me', { body })
      await readProfile()
    },
    done: core.saved,
  })
  return (
    <Panel title={t.profile}>
      <div className="mb-4">
        <Facts
          rows={[
            [t.email, user.email],
            [t.role, wordFor(core.roles, user.role)],
          ]}
        />
      </div>
      <Form
        isGuarded
        button={core.save}
        isBusy={action.isPending}
        isSaved={action.isDone}
        error={action.error}
        onSend={({ saleMails, ...values }) => {
          const choice = isOfCompany(user.role) ? { saleMails: saleMails !== undefined } : {}
          action.mutate({ ...values, ...choice } as Body<'changeMe'>)
        }}
      >
        <div className="grid gap-x-4 sm:grid-cols-2">
          <Field label={t.firstName} name="firstName" defaultValue={user.firstName} required maxLength={60} />
          <Field label={t.lastName} name="lastName" defaultValue={user.lastName} required maxLength={60} />
        </div>
        <Field
          label={`${t.phone} (${core.optional})`}
          name="phoneNumber"
          type="tel"
          defaultValue={user.phoneNumber ?? ''}
          maxLength={40}
        />
        <Select
          label={t.mailLang}
          name="lang"
          defaultValue={user.lang}
          options={LANGS.map((lang) => [lang, LANG_NAMES[lang]] as const)}
        />
        {isOfCompany(user.role) && (
          <Check label={t.saleMails} name="saleMails" defaultChecked={user.saleMails} hint={t.saleMailsHint} />
        )}
      </Form>
    </Panel>
  )
}

function Password() {
  const t = useTexts(texts)
  const action = useAction({
    run: (body: Body<'changePassword'>) => call('POST /api/next/auth/password', { body }),
    done: t.changed,
  })
  return (
    <Panel title={t.password}>
      <Form
        button={t.change}
        isBusy={action.isPending}
        error={action.error}
        onSend={(values, form) => action.mutate(values as Body<'changePassword'>, { onSuccess: () => form.reset() })}
      >
        <Field label={t.current} name="password" type="password" autoComplete="current-password" required />
        <Field
          label={t.next}
          name="newPassword"
          type="password"
          autoComplete="new-password"
          required
          minLength={12}
          maxLength={128}
          hint={t.hint}
        />
      </Form>
    </Panel>
  )
}

function Sessions() {
  const t = useTexts(texts)
  const sessions = useApi('GET /api/next/auth/sessions', {})
  const end = useAction({ run: (id: string) => call('DELETE /api/next/auth/sessions/{id}', { path: { id } }) })
  const others = useAction({
    run: () => call('POST /api/next/auth/sessions/revoke-others'),
    isAnew: true,
    done: t.ended,
  })
  return (
    <Panel title={t.sessions}>
      <Refusal error={end.error ?? others.error} />
      <Loaded query={sessions}>
        {(list) => (
          <ul className="space-y-3">
            {list.map((session) => (
              <li key={session._id} className="flex items-center gap-3 text-sm">
                <span className="min-w-0 grow">
                  <span className="block truncate" title={session.userAgent ?? undefined}>
                    {session.userAgent ? browserName(session.userAgent) : '–'}
                  </span>
                  <span className="text-soft">
                    {session.ip} · {t.last} <Time at={session.lastUsedAt} ago />
                  </span>
                </span>
                {session.current ? (
                  <Badge tone="good">{t.thisOne}</Badge>
                ) : (
                  <button type="button" className="btn" onClick={() => end.mutate(session._id)}>
                    {t.end}
                  </button>
                )}
              </li>
            ))}
          </ul>
        )}
      </Loaded>
      <button type="button" className="btn mt-4" onClick={() => others.mutate(undefined)}>
        {t.endOthers}
      </button>
    </Panel>
  )
}
