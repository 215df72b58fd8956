import { Link } from '@tanstack/react-router'
import { type ReactNode, type SyntheticEvent, useEffect, useId, useLayoutEffect, useRef, useState } from 'react'
import { ApiError } from '../api/call.ts'
import { isGivenUp, isSilence, useSilence } from '../api/hooks.ts'
import { lackOf } from '../api/lack.ts'
import { useCan } from '../api/session.ts'
import { useCore, useLang, wordFor } from '../texts/lang.ts'
import { formatMoney, formatTime, shorten, useAgo } from './format.ts'
import { Icon, type IconName } from './icons.tsx'
import { type IsAtField, useRefusal } from './refusal.ts'
import { say } from './toasts.tsx'

/** A page with its title and actions. Sets the title of the tab. */
export function Page({ title, lead, actions, children }: PageProps) {
  useEffect(() => {
    document.title = `${title} · Comptoir`
  }, [title])
  return (
    <div className="mx-auto w-full max-w-6xl px-4 py-6 sm:px-6 lg:px-8">
      <header className="mb-5 flex flex-wrap items-start justify-between gap-3">
        <div className="min-w-0">
          <h1 className="text-2xl font-semibold tracking-tight">{title}</h1>
          {lead && <p className="mt-1 max-w-2xl text-soft">{lead}</p>}
        </div>
        {actions && <div className="no-print flex flex-wrap gap-2">{actions}</div>}
      </header>
      {children}
    </div>
  )
}
type PageProps = { title: string; lead?: ReactNode; actions?: ReactNode; children: ReactNode }

export function Panel({ title, actions, children, flush }: PanelProps) {
  const id = useId()
  return (
    <section className="panel mb-5" aria-labelledby={title ? id : undefined}>
      {title && (
        <div className="flex flex-wrap items-center justify-between gap-2 border-b border-line px-4 py-3">
          <h2 id={id} className="font-semibold">
            {title}
          </h2>
          {actions}
        </div>
      )}
      <div className={flush ? '' : 'p-4'}>{children}</div>
    </section>
  )
}
type PanelProps = { title?: string; actions?: ReactNode; children: ReactNode; flush?: boolean }

const TONES = {
  good: 'bg-good-soft text-good',
  warn: 'bg-warn-soft text-warn',
  bad: 'bg-bad-soft text-bad',
  info: 'bg-info-soft text-info',
  plain: 'bg-sunken text-soft',
} as const
export type Tone = keyof typeof TONES

export const Badge = ({ tone = 'plain', children }: { tone?: Tone; children: ReactNode }) => (
  <span className={`chip ${TONES[tone]}`}>{children}</span>
)

const STATUS_TONES: Record<string, Tone> = {
  PAID: 'good',
  AWAITING: 'info',
  PENDING: 'info',
  WAITING_CHAIN_CONFIRMATION: 'info',
  REFUNDING: 'warn',
  REFUNDED: 'warn',
  FULL_REFUNDED: 'warn',
  ERROR: 'bad',
  KYT_FAILED: 'bad',
}
export function OrderStatus({ status }: { status: string }) {
  const core = useCore()
  return <Badge tone={STATUS_TONES[status] ?? 'plain'}>{wordFor(core.orderStatus, status)}</Badge>
}

export function Notice({ tone = 'info', children }: { tone?: Tone; children: ReactNode }) {
  return (
    <div role={tone === 'bad' ? 'alert' : undefined} className={`mb-4 rounded-lg px-4 py-3 text-sm ${TONES[tone]}`}>
      {children}
    </div>
  )
}

export function Refusal({ error, isAtField }: { error: unknown; isAtField?: IsAtField }) {
  const words = useRefusal()
  const core = useCore()
  const can = useCan()
  if (!error || isGivenUp(error)) return null
  const id = error instanceof ApiError && error.status >= 500 ? error.requestId : null
  return (
    <Notice tone="bad">
      {words(error, isAtField)}
      {lackOf(error) && can('settlements.read') && (
        <Link to="/money" className="link mt-1 block">
          {core.refusals.cancelPayout}
        </Link>
      )}
      {id && <span className="mt-1 block text-xs">{core.reference(id)}</span>}
    </Notice>
  )
}

/** A query's three other states: loading (with text after a moment), failed with a way to continue, empty. */
export function Loaded<Data>({ query, empty, isEmpty, children }: LoadedProps<Data>) {
  const core = useCore()
  // while the service answers nothing, the bar above says so for all
  const silentSince = useSilence()
  const { data, error } = query
  if (data === undefined && error) {
    return (
      <div className="px-4 py-10 text-center">
        <h2 className="font-semibold">{core.failed}</h2>
        <Refusal error={error} />
        <button type="button" className="btn" onClick={() => void query.refetch()}>
          {core.refresh}
        </button>
      </div>
    )
  }
  if (data === undefined) return <Loading />
  return (
    <>
      {silentSince === null && isSilence(error) && <Refusal error={error} />}
      {isEmpty?.(data) ? empty : children(data)}
    </>
  )
}
type LoadedProps<Data> = {
  query: { data: Data | undefined; error: unknown; refetch(): unknown }
  empty?: ReactNode
  isEmpty?(data: Data): boolean
  children(data: Data): ReactNode
}

export function Loading() {
  const core = useCore()
  const [isLong, setLong] = useState(false)
  useEffect(() => {
    const timer = setTimeout(() => setLong(true), 2000)
    return () => clearTimeout(timer)
  }, [])
  return (
    <p role="status" className="px-4 py-10 text-center text-soft">
      {isLong ? core.stillLoading : core.loading}
    </p>
  )
}

export function Empty({ icon = 'inbox', title, isPage, children }: EmptyProps) {
  const Title = isPage ? 'h1' : 'p'
  return (
    <div className="flex flex-col items-center gap-2 px-4 py-12 text-center">
      <span className="mb-1 grid size-12 place-items-center rounded-full bg-sunken text-soft">
        <Icon name={icon} />
      </span>
      <Title className="font-semibold">{title}</Title>
      {children && <div className="max-w-md text-soft">{children}</div>}
    </div>
  )
}
type EmptyProps = { icon?: IconName; title: string; isPage?: boolean; children?: ReactNode }

export function Money({ amount, asset }: { amount: string; asset: string }) {
  const lang = useLang()
  return <span className="num">{formatMoney(lang, amount, asset)}</span>
}

export function Time({ at, long, ago }: { at: string; long?: boolean; ago?: boolean }) {
  const lang = useLang()
  const age = useAgo()
  const full = formatTime(lang, at, 'long')
  return (
    <time dateTime={at} title={full} className="whitespace-nowrap">
      {ago ? age(at) : formatTime(lang, at, long ? 'long' : 'short')}
    </time>
  )
}

/**
 * The clipboard exists over https only; over plain http a selected text is copied. A text that has yet to be fetched
 * goes to the clipboard as a promise: Safari allows no copying later than the click.
 */
export async function copy(text: string | Promise<string>): Promise<void> {
  if (navigator.clipboard !== undefined && typeof text !== 'string' && 'ClipboardItem' in window) {
    const blob = text.then((fetched) => new Blob([fetched], { type: 'text/plain' }))
    const written = navigator.clipboard.write([new ClipboardItem({ 'text/plain': blob })])
    // the refusal of the service says more than the clipboard's
    written.catch(() => {})
    await text
    return written
  }
  const fetched = await text
  if (navigator.clipboard !== undefined) return navigator.clipboard.writeText(fetched)
  const field = document.createElement('textarea')
  field.value = fetched
  // beside an open dialog nothing can be selected
  const place = [...document.querySelectorAll('dialog[open]')].at(-1) ?? document.body
  const focused = document.activeElement
  place.append(field)
  field.select()
  document.execCommand('copy')
  field.remove()
  if (focused instanceof HTMLElement) focused.focus()
}

export function Copy({ text, label }: { text: string; label?: string }) {
  const core = useCore()
  const onClick = async (): Promise<void> => {
    await copy(text)
    say(core.copied)
  }
  return (
    <button type="button" className="btn btn-quiet min-h-8 py-1 text-sm text-brand" onClick={() => void onClick()}>
      <Icon name="copy" size={16} />
      {label ?? core.copy}
    </button>
  )
}

/** A long identifier: shortened for display, copied whole. */
export const Code = ({ text, whole }: { text: string; whole?: boolean }) => (
  <code className="code" title={text}>
    {whole ? text : shorten(text)}
  </code>
)

/** Rows of "name: value". On a phone an amount may have its unit on a line of its own. */
export function Facts({ rows }: { rows: [string, ReactNode][] }) {
  return (
    <dl className="grid grid-cols-[fit-content(45%)_1fr] gap-x-4 gap-y-2 text-sm">
      {rows.map(([name, value]) => (
        <div key={name} className="contents">
          <dt className="min-w-28 wrap-anywhere text-soft">{name}</dt>
          <dd className="min-w-0 break-words [&_.num]:whitespace-normal">{value ?? '–'}</dd>
        </div>
      ))}
    </dl>
  )
}

const FIELDS = 'input:not([type=hidden], :disabled, [readonly]), select, textarea'

/** A modal dialog. Focuses its first field and closes with Escape; the focus then returns to where it was. */
type DialogProps = {
  title: string
  onClose(): void
  /** Its content is shown only once, so Escape does not close it. */
  isOnce?: boolean
  /** Nothing of the page is to be seen behind it. */
  isCovering?: boolean
  children: ReactNode
}

export function Dialog({ title, onClose, isOnce, isCovering, children }: DialogProps) {
  const ref = useRef<HTMLDialogElement>(null)
  const id = useId()
  const core = useCore()
  // before it leaves the document: afterwards closing could no longer return the focus
  useLayoutEffect(() => {
    const dialog = ref.current
    if (dialog && !dialog.open) dialog.showModal()
    const fields = [...(dialog?.querySelectorAll<HTMLElement>(FIELDS) ?? [])]
    fields.find((field) => field.checkVisibility())?.focus()
    return () => dialog?.close()
  }, [])
  const onCancel = (event: SyntheticEvent<HTMLDialogElement>): void => {
    // a file chooser inside that was closed without a choice says so, too
    if (event.target !== event.currentTarget) return
    event.preventDefault()
    if (!isOnce) onClose()
  }
  // a browser closes it by itself when Escape is pressed again, whatever onCancel says
  const onClosed = (): void => {
    const dialog = ref.current
    if (!dialog || dialog.open) return
    if (isOnce) dialog.showModal()
    else onClose()
  }
  return (
    <dialog
      ref={ref}
      aria-labelledby={id}
      className={isCovering ? 'backdrop:bg-ground' : undefined}
      onCancel={onCancel}
      onClose={onClosed}
    >
      <div className="flex items-center justify-between gap-3 border-b border-line px-5 py-3.5">
        <h2 id={id} className="text-lg font-semibold">
          {title}
        </h2>
        <button type="button" className="btn btn-quiet" aria-label={core.close} onClick={onClose}>
          <Icon name="x" />
        </button>
      </div>
      <div className="p-5">{children}</div>
    </dialog>
  )
}

/** A page after the last one, from an old link or a typed URL. */
export function PastEnd({ onPage }: { onPage(page: number): void }) {
  const core = useCore()
  return (
    <Empty title={core.pastEnd}>
      <button type="button" className="btn mt-2" onClick={() => onPage(1)}>
        {core.firstPage}
      </button>
    </Empty>
  )
}

export function Pager({ page, limit, total, onPage }: PagerProps) {
  const core = useCore()
  const pages = Math.max(1, Math.ceil(total / limit))
  if (pages === 1) return null
  return (
    <nav
      className="flex items-center justify-between gap-3 border-t border-line px-4 py-3 text-sm"
      aria-label={core.page(page, pages)}
    >
      <button type="button" className="btn" disabled={page <= 1} onClick={() => onPage(page - 1)}>
        {core.previous}
      </button>
      <span className="text-soft">{core.page(page, pages)}</span>
      <button type="button" className="btn" disabled={page >= pages} onClick={() => onPage(page + 1)}>
        {core.next}
      </button>
    </nav>
  )
}
type PagerProps = { page: number; limit: number; total: number; onPage(page: number): void }

/** Wide tables scroll inside their panel, and by keyboard. */
export const TableFrame = ({ label, children }: { label: string; children: ReactNode }) => (
  // biome-ignore lint/a11y/useSemanticElements: a group with a name, neither a landmark nor a set of fields
  // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard (WCAG 2.1.1)
  <div role="group" className="overflow-x-auto" aria-label={label} tabIndex={0}>
    {children}
  </div>
)
