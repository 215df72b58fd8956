import { ApiError, call } from '../../api/call.ts'
import { useAction, useApi } from '../../api/hooks.ts'
import { Field, Form } from '../../kit/fields.tsx'
import { Loaded, Panel, Time } from '../../kit/parts.tsx'
import { useTexts } from '../../texts/lang.ts'
import { texts } from './pin-texts.ts'

/** The person's own PIN for tills. */
export function Pin() {
  const t = useTexts(texts)
  const known = useApi('GET /api/next/users/me/till-pin', {})
  const action = useAction({
    run: (pin: string) =>
      call('PUT /api/next/users/me/till-pin', { body: { pin } }).catch((error: unknown) => {
        // the field accepts only six digits, so only the rule about their choice remains
        throw error instanceof ApiError && error.code === 'VALIDATION_FAILED' ? new Error(t.weak) : error
      }),
    done: t.saved,
  })
  return (
    <Panel title={t.title}>
      <p className="mb-3 text-soft">{t.text}</p>
      <Loaded query={known}>
        {({ changedAt }) => (
          <p className="mb-3 text-sm">
            {changedAt ? (
              <>
                {t.since} <Time at={changedAt} ago />
              </>
            ) : (
              t.none
            )}
          </p>
        )}
      </Loaded>
      <Form
        button={t.save}
        isBusy={action.isPending}
        error={action.error}
        onSend={({ pin = '' }, form) => action.mutate(pin, { onSuccess: () => form.reset() })}
      >
        <Field label={t.pin} name="pin" type="password" autoComplete="off" required kind="sixDigits" hint={t.hint} />
      </Form>
    </Panel>
  )
}
