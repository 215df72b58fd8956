import { useState } from 'react'
import { type Body, call } from '../../api/call.ts'
import { useAction } from '../../api/hooks.ts'
import { useCompanyQuery } from '../../frame/company.tsx'
import { changed } from '../../kit/changed.ts'
import { Field, Form, Select } from '../../kit/fields.tsx'
import { Dialog } from '../../kit/parts.tsx'
import { LANG_NAMES, LANGS, useCore, useLang, useTexts } from '../../texts/lang.ts'
import type { Rule } from './kinds.ts'
import { texts } from './texts.ts'

type Change = Body<'changeChannelRule'>

/** What differs from the rule as it was shown; a language whose texts were cleared is null. */
function changeOf(rule: Rule, values: Record<string, string>): Change {
  const textsOf = (lang: (typeof LANGS)[number]) => {
    const [label = null, hint = null] = [values[`${lang}.label`], values[`${lang}.hint`]]
    const before = rule.texts[lang]
    if (label === (before?.label ?? null) && hint === (before?.hint ?? null)) return []
    return [[lang, label === null && hint === null ? null : { label, hint }] as const]
  }
  const texts = Object.fromEntries(LANGS.flatMap(textsOf)) as NonNullable<Change['texts']>
  const limits = { minAmount: values.minAmount ?? null, maxAmount: values.maxAmount ?? null }
  return { ...changed(rule, limits), ...(Object.keys(texts).length > 0 && { texts }) }
}

/** Limits of a channel, and what payers read about it, one language at a time. */
export function RuleDialog({ rule: current, name, onClose }: { rule: Rule; name: string; onClose(): void }) {
  const [rule] = useState(current)
  const t = useTexts(texts)
  const core = useCore()
  const mine = useLang()
  const [shown, setShown] = useState<string>(mine)
  const query = useCompanyQuery()
  const action = useAction({
    run: (body: Change) =>
      call('PUT /api/next/channel-rules/{channel}', { path: { channel: rule.channel }, query, body }),
    done: core.saved,
    onDone: onClose,
  })
  return (
    <Dialog title={name} onClose={onClose}>
      <Form
        button={core.save}
        isBusy={action.isPending}
        error={action.error}
        onSend={(values) => action.mutate(changeOf(rule, values))}
      >
        <div className="grid grid-cols-2 gap-x-4">
          <Field label={t.min} name="minAmount" defaultValue={rule.minAmount ?? ''} kind="money" />
          <Field label={t.max} name="maxAmount" defaultValue={rule.maxAmount ?? ''} kind="money" />
        </div>
        <p className="mb-4 text-[13px] text-soft">{t.limitHint}</p>
        <Select
          label={core.language}
          value={shown}
          options={LANGS.map((lang) => [lang, LANG_NAMES[lang]])}
          onChange={({ target }) => setShown(target.value)}
        />
        {LANGS.map((lang) => (
          <div key={lang} hidden={lang !== shown}>
            <Field
              label={`${t.label} (${core.optional})`}
              name={`${lang}.label`}
              lang={lang}
              maxLength={40}
              placeholder={name}
              defaultValue={rule.texts[lang]?.label ?? ''}
            />
            <Field
              label={`${t.hint} (${core.optional})`}
              name={`${lang}.hint`}
              lang={lang}
              maxLength={160}
              defaultValue={rule.texts[lang]?.hint ?? ''}
              hint={t.hintHint(name)}
            />
          </div>
        ))}
      </Form>
    </Dialog>
  )
}
