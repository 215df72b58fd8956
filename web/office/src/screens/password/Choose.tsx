import { Link, useSearch } from '@tanstack/react-router'
import { ApiError, call } from '../../api/call.ts'
import { useAction } from '../../api/hooks.ts'
import { Outside } from '../../frame/Outside.tsx'
import { Field, Form } from '../../kit/fields.tsx'
import { Notice } from '../../kit/parts.tsx'
import { useTexts } from '../../texts/lang.ts'
import { texts } from './texts.ts'

/** Targets of mailed links: a forgotten password, and an invitation. */
export function Reset() {
  const t = useTexts(texts)
  return <ChoosePassword title={t.reset} />
}
export function Invitation() {
  const t = useTexts(texts)
  return <ChoosePassword title={t.invitation} over={t.over} />
}

/** @param props.over what a used or old link means here, if it differs from the usual */
function ChoosePassword({ title, over }: { title: string; over?: string }) {
  const t = useTexts(texts)
  const { token } = useSearch({ strict: false })
  const action = useAction({
    run: (newPassword: string) =>
      call('POST /api/next/auth/reset-password/change', { body: { token: token ?? '', newPassword } }).catch(
        (error: unknown) => {
          throw over && error instanceof ApiError && error.code === 'INVALID_RESET_TOKEN' ? new Error(over) : error
        },
      ),
  })
  return (
    <Outside title={title}>
      {action.isSuccess ? (
        <>
          <Notice tone="good">{t.changed}</Notice>
          <Link to="/login" className="btn btn-fill">
            {t.login}
          </Link>
        </>
      ) : token ? (
        <Form
          button={t.keep}
          isBusy={action.isPending}
          error={action.error}
          onSend={({ password = '' }) => action.mutate(password)}
        >
          <Field
            label={t.password}
            name="password"
            type="password"
            autoComplete="new-password"
            required
            minLength={12}
            maxLength={128}
            hint={t.hint}
          />
        </Form>
      ) : (
        <Notice tone="warn">{t.noToken}</Notice>
      )}
    </Outside>
  )
}
