import { Link } from '@tanstack/react-router'
import { call } from '../../api/call.ts'
import { useAction } from '../../api/hooks.ts'
import { Outside } from '../../frame/Outside.tsx'
import { Field, Form } from '../../kit/fields.tsx'
import { Notice } from '../../kit/parts.tsx'
import { useLang, useTexts } from '../../texts/lang.ts'
import { texts } from './texts.ts'

export function Forgot() {
  const t = useTexts(texts)
  const lang = useLang()
  const action = useAction({
    run: (email: string) =>
      call('POST /api/next/auth/reset-password/send', { body: { email, origin: 'dashboard' }, query: { lang } }),
  })
  return (
    <Outside title={t.forgot}>
      {action.isSuccess ? (
        <Notice tone="good">{t.sent}</Notice>
      ) : (
        <Form
          button={t.send}
          isBusy={action.isPending}
          error={action.error}
          onSend={({ email = '' }) => action.mutate(email)}
        >
          <p className="mb-4 text-soft">{t.forgotText}</p>
          <Field label={t.email} name="email" type="email" autoComplete="username" required />
        </Form>
      )}
      <p className="mt-5 text-sm">
        <Link to="/login" className="link">
          {t.login}
        </Link>
      </p>
    </Outside>
  )
}
