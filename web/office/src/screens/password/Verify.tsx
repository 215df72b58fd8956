import { Link, useSearch } from '@tanstack/react-router'
import { call } from '../../api/call.ts'
import { useAction } from '../../api/hooks.ts'
import { Outside } from '../../frame/Outside.tsx'
import { Form } from '../../kit/fields.tsx'
import { Notice } from '../../kit/parts.tsx'
import { useTexts } from '../../texts/lang.ts'
import { texts } from './texts.ts'

/** A click verifies instead of the link itself, because mail scanners open links too. */
export function Verify() {
  const t = useTexts(texts)
  const { token } = useSearch({ strict: false })
  const action = useAction({ run: () => call('POST /api/next/auth/verify-email', { body: { token: token ?? '' } }) })
  return (
    <Outside title={t.verify}>
      {action.isSuccess ? (
        <>
          <Notice tone="good">{t.verified}</Notice>
          <Link to="/login" className="btn btn-fill">
            {t.login}
          </Link>
        </>
      ) : token ? (
        <Form button={t.confirm} isBusy={action.isPending} error={action.error} onSend={() => action.mutate(undefined)}>
          <p className="mb-4 text-soft">{t.verifyText}</p>
        </Form>
      ) : (
        <Notice tone="warn">{t.noToken}</Notice>
      )}
    </Outside>
  )
}
