import { useNavigate } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { Dialog } from '../kit/parts.tsx'
import { useCore } from '../texts/lang.ts'
import { useCanSell } from './company.tsx'

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))

/** `/` searches, `n` begins an order, `?` shows this list. */
export function Shortcuts() {
  const core = useCore()
  const navigate = useNavigate()
  const [isOpen, setOpen] = useState(false)
  const mayCreate = useCanSell()
  useEffect(() => {
    const findSearch = () => document.querySelector<HTMLInputElement>('[data-search]')
    // a list that is shown keeps its filters
    const search = (): void => {
      const shown = findSearch()
      if (shown) shown.focus()
      else void navigate({ to: '/orders' }).then(() => setTimeout(() => findSearch()?.focus(), 50))
    }
    const actions: Record<string, () => void> = {
      '/': search,
      n: () => mayCreate && void navigate({ to: '/orders/new' }),
      h: () => void navigate({ to: '/' }),
      o: () => void navigate({ to: '/orders' }),
      '?': () => setOpen(true),
    }
    const onKey = (event: KeyboardEvent): void => {
      const action = actions[event.key]
      if (!action || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return
      if (document.querySelector('dialog[open]')) return
      event.preventDefault()
      action()
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [navigate, mayCreate])
  if (!isOpen) return null
  const rows: [string, string][] = [
    ['/', core.shortcuts.search],
    ...(mayCreate ? ([['n', core.shortcuts.create]] as [string, string][]) : []),
    ['h', core.shortcuts.home],
    ['o', core.shortcuts.orders],
    ['?', core.shortcuts.help],
  ]
  return (
    <Dialog title={core.help} onClose={() => setOpen(false)}>
      <dl className="grid grid-cols-[auto_1fr] items-center gap-x-4 gap-y-2">
        {rows.map(([key, text]) => (
          <div key={key} className="contents">
            <dt>
              <kbd className="code">{key}</kbd>
            </dt>
            <dd>{text}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  )
}
