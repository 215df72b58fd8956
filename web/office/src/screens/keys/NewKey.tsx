import { type Body, call, type Data } from '../../api/call.ts'
import { useAction } from '../../api/hooks.ts'
import { useCompanyQuery } from '../../frame/company.tsx'
import { Check, Field, Form } from '../../kit/fields.tsx'
import { Dialog } from '../../kit/parts.tsx'
import { useCore, useTexts } from '../../texts/lang.ts'
import { texts } from './texts.ts'

const SCOPES = [
  'orders:read',
  'orders:write',
  'refunds:write',
  'sessions:write',
  'webhooks:read',
  'webhooks:write',
] as const
const USUAL: readonly string[] = ['orders:read', 'orders:write']

export function NewKey({ onClose, onMade }: { onClose(): void; onMade(key: Data<'createApiKey'>): void }) {
  const t = useTexts(texts)
  const core = useCore()
  const query = useCompanyQuery()
  const action = useAction({
    run: ({ name = '', expiresAt, ...scopes }: Record<string, string>) => {
      const until = expiresAt ? { expiresAt: new Date(`${expiresAt}T23:59:59`).toISOString() } : {}
      const body = { name, scopes: Object.keys(scopes), ...until } as Body<'createApiKey'>
      return call('POST /api/next/api-keys', { body, query })
    },
    onDone: onMade,
  })
  return (
    <Dialog title={t.create} onClose={onClose}>
      <Form button={t.button} isBusy={action.isPending} error={action.error} onSend={(values) => action.mutate(values)}>
        <Field label={t.name} name="name" required maxLength={100} hint={t.nameHint} />
        <fieldset className="mb-4">
          <legend className="mb-2 text-sm font-medium">{t.scopes}</legend>
          {SCOPES.map((scope) => (
            <Check
              key={scope}
              label={t.scope[scope] ?? scope}
              hint={scope}
              name={scope}
              value="on"
              defaultChecked={USUAL.includes(scope)}
            />
          ))}
        </fieldset>
        <Field label={`${t.expires} (${core.optional})`} name="expiresAt" type="date" />
      </Form>
    </Dialog>
  )
}
