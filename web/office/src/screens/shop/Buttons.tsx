import { useState } from 'react'
import { type Body, call, type Schemas } from '../../api/call.ts'
import { useAction, useWhole } from '../../api/hooks.ts'
import { useCan } from '../../api/session.ts'
import { useCompanyQuery } from '../../frame/company.tsx'
import { changed } from '../../kit/changed.ts'
import { Check, Field, Form, Select } from '../../kit/fields.tsx'
import { Copy, Dialog, Loaded, Money, Panel } from '../../kit/parts.tsx'
import { useCore, useTexts } from '../../texts/lang.ts'
import { texts } from './texts.ts'

type Button = Schemas['BuyButton']
const CURRENCIES = ['EUR', 'CHF', 'USD', 'GBP', 'XPF'] as const

export function Buttons() {
  const t = useTexts(texts)
  const can = useCan()
  const [isNew, setNew] = useState(false)
  const buttons = useWhole('GET /api/next/buy-buttons', useCompanyQuery())
  const add = can('buttons.write') && (
    <button type="button" className="btn" onClick={() => setNew(true)}>
      {t.addButton}
    </button>
  )
  return (
    <Panel title={t.buttons} actions={add}>
      <Loaded
        query={buttons}
        isEmpty={(data) => data.buyButtons.length === 0}
        empty={<p className="text-soft">{t.none}</p>}
      >
        {(data) => (
          <ul className="divide-y divide-line">
            {data.buyButtons.map((button) => (
              <li key={button._id} className="py-3 first:pt-0 last:pb-0">
                <Row button={button} />
              </li>
            ))}
          </ul>
        )}
      </Loaded>
      {isNew && <NewButton onClose={() => setNew(false)} />}
    </Panel>
  )
}

/** With the class the script gives the button its style; a shop that leaves it out keeps its own. */
const snippet = (id: string, word: string): string =>
  `<script src="${location.origin}/sdk.js" async></script>\n<button class="comptoir-button" data-comptoir="${id}">${word}</button>`

/** `.comptoir-button` of web/sdkjs/sdk.js. */
const LIKE_SDK =
  'inline-block min-h-11 rounded-xl bg-[#0a6652] px-5 py-3 font-[system-ui,sans-serif] text-base/tight font-semibold text-white'

function CodeDialog({ id, onClose }: { id: string; onClose(): void }) {
  const t = useTexts(texts)
  const code = snippet(id, t.preview)
  return (
    <Dialog title={t.code} onClose={onClose}>
      <p className="mb-2 text-sm text-soft">{t.looks}</p>
      <p className="mb-2">
        <span className={LIKE_SDK}>{t.preview}</span>
      </p>
      <p className="mb-5 text-sm">
        <a className="link" href={`/buy-button/landing?id=${id}`} target="_blank" rel="noreferrer">
          {t.tryIt}
        </a>{' '}
        <span className="text-soft">{t.tryItText}</span>
      </p>
      <p className="mb-3">{t.codeText}</p>
      <pre className="code mb-3 p-3 whitespace-pre-wrap">{code}</pre>
      <Copy text={code} />
    </Dialog>
  )
}

function Row({ button }: { button: Button }) {
  const t = useTexts(texts)
  const core = useCore()
  const can = useCan()
  const [ask, setAsk] = useState<'code' | 'change' | 'remove' | null>(null)
  const remove = useAction({
    run: () => call('DELETE /api/next/buy-buttons/{id}', { path: { id: button._id } }),
    done: t.done,
    onDone: () => setAsk(null),
  })
  return (
    <>
      <p>
        <strong className="break-words">{button.name}</strong> <Money amount={button.price} asset={button.currency} />
      </p>
      <p className="text-sm break-all text-soft">{button.websiteUrl}</p>
      <div className="mt-2 flex flex-wrap gap-2">
        <button type="button" className="btn" onClick={() => setAsk('code')}>
          {t.code}
        </button>
        {can('buttons.write') && (
          <>
            <button type="button" className="btn" onClick={() => setAsk('change')}>
              {core.change}
            </button>
            <button type="button" className="btn" onClick={() => setAsk('remove')}>
              {t.remove}
            </button>
          </>
        )}
      </div>
      {ask === 'code' && <CodeDialog id={button._id} onClose={() => setAsk(null)} />}
      {ask === 'change' && <ButtonDialog button={button} onClose={() => setAsk(null)} onDone={() => setAsk(null)} />}
      {ask === 'remove' && (
        <Dialog title={t.remove} onClose={() => setAsk(null)}>
          <Form
            tone="bad"
            button={t.remove}
            isBusy={remove.isPending}
            error={remove.error}
            onSend={() => remove.mutate(undefined)}
          >
            <p className="mb-4">{t.removeText}</p>
          </Form>
        </Dialog>
      )}
    </>
  )
}

export const NewButton = ({ onClose, onDone = onClose }: { onClose(): void; onDone?(): void }) => (
  <ButtonDialog onClose={onClose} onDone={onDone} />
)

/** @param props.button the one to change, whose code on the website stays valid; without it a new one is created */
function ButtonDialog({ button: current, onClose, onDone }: { button?: Button; onClose(): void; onDone(): void }) {
  const [button] = useState(current)
  const t = useTexts(texts)
  const core = useCore()
  const query = useCompanyQuery()
  const action = useAction({
    run: async ({ pagePrice, ...values }: Record<string, string>): Promise<unknown> => {
      const given = { ...values, pagePrice: pagePrice !== undefined }
      const body = given as unknown as Body<'createBuyButton'>
      return button
        ? call('PUT /api/next/buy-buttons/{id}', { path: { id: button._id }, body: changed(button, body) })
        : call('POST /api/next/buy-buttons', { body, query })
    },
    done: core.saved,
    onDone,
  })
  return (
    <Dialog title={button ? core.pair(core.change, button.name) : t.addButton} onClose={onClose}>
      <Form
        button={button ? core.save : t.addButton}
        isBusy={action.isPending}
        error={action.error}
        onSend={(values) => action.mutate(values)}
      >
        <Field label={t.name} name="name" required maxLength={100} defaultValue={button?.name} />
        <Field
          label={t.website}
          name="websiteUrl"
          type="url"
          required
          maxLength={2048}
          placeholder="https://"
          defaultValue={button?.websiteUrl}
        />
        <div className="grid grid-cols-[1fr_7rem] gap-x-3">
          <Field label={t.price} name="price" required kind="amount" defaultValue={button?.price} />
          <Select
            label={t.currency}
            name="currency"
            defaultValue={button?.currency}
            options={CURRENCIES.map((one) => [one, one] as const)}
          />
        </div>
        <Check
          label={t.pagePrice}
          hint={t.pagePriceHint}
          name="pagePrice"
          value="on"
          defaultChecked={button?.pagePrice}
        />
      </Form>
    </Dialog>
  )
}
