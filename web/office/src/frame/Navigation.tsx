import { Link, type LinkProps, useLocation, useNavigate } from '@tanstack/react-router'
import { useEffect } from 'react'
import type { Permission } from '../api/call.ts'
import { leave, useCan, useSession } from '../api/session.ts'
import { Icon, type IconName } from '../kit/icons.tsx'
import type { Core } from '../texts/core.ts'
import { useCore, wordFor } from '../texts/lang.ts'
import { CompanyPicker, isOperator, useCanSell } from './company.tsx'
import { LanguageChoice } from './Settings.tsx'

type Item = {
  to: NonNullable<LinkProps['to']>
  word: keyof Core['nav']
  icon: IconName
  permission: Permission
  isOperators?: true
}
type Group = { word: keyof Core['groups'] | null; items: Item[] }

/** The items follow the service's permission table; a group without items is hidden. */
const GROUPS: Group[] = [
  { word: null, items: [{ to: '/', word: 'home', icon: 'home', permission: 'users.me' }] },
  {
    word: 'sell',
    items: [
      { to: '/orders', word: 'orders', icon: 'list', permission: 'orders.list' },
      { to: '/links', word: 'links', icon: 'link', permission: 'orders.links' },
    ],
  },
  {
    word: 'money',
    items: [
      { to: '/refunds', word: 'refunds', icon: 'undo', permission: 'refunds.read' },
      { to: '/mispayments', word: 'mispayments', icon: 'alert', permission: 'mispayments.read' },
      { to: '/money', word: 'money', icon: 'wallet', permission: 'ledger.read' },
      { to: '/identity', word: 'identity', icon: 'shield', permission: 'kyc.read' },
    ],
  },
  {
    word: 'shop',
    items: [
      { to: '/shop', word: 'shop', icon: 'shop', permission: 'companies.read' },
      { to: '/people', word: 'people', icon: 'people', permission: 'users.list' },
    ],
  },
  {
    word: 'build',
    items: [
      { to: '/developer', word: 'developer', icon: 'code', permission: 'apiKeys.read' },
      { to: '/webhooks', word: 'webhooks', icon: 'bolt', permission: 'webhooks.deliveries' },
      { to: '/keys', word: 'keys', icon: 'key', permission: 'apiKeys.read' },
      { to: '/events', word: 'events', icon: 'clock', permission: 'webhooks.deliveries' },
      { to: '/requests', word: 'requests', icon: 'inbox', permission: 'requests.read' },
    ],
  },
  {
    word: 'run',
    items: [
      { to: '/operator', word: 'operator', icon: 'server', permission: 'companies.read', isOperators: true },
      { to: '/audit', word: 'audit', icon: 'book', permission: 'audit.read' },
    ],
  },
]

const items = GROUPS.flatMap((group) => group.items)

/** The permission that a typed URL needs; pages for everyone need none. */
export function permissionOf(path: string): Permission | null {
  if (/^\/(orders|links)\/new$/.test(path)) return 'orders.create'
  if (path === '/device') return 'deviceLogins.read'
  return items.find(({ to }) => to !== '/' && path.startsWith(to))?.permission ?? null
}

function NavLink({ to, word, icon }: Item) {
  const core = useCore()
  return (
    <Link
      to={to}
      activeOptions={{ exact: to === '/', includeSearch: false }}
      className="flex min-h-10 items-center gap-3 rounded-lg px-3 text-soft hover:bg-sunken hover:text-ink aria-[current=page]:bg-sunken aria-[current=page]:font-medium aria-[current=page]:text-ink"
    >
      <Icon name={icon} />
      {core.nav[word]}
    </Link>
  )
}

function Items() {
  const core = useCore()
  const can = useCan()
  const { user } = useSession()
  return GROUPS.map(({ word, items }) => {
    const shown = items.filter(
      ({ permission, isOperators }) => can(permission) && (!isOperators || isOperator(user.role)),
    )
    if (shown.length === 0) return null
    return (
      <div key={word ?? 'top'}>
        {word && <h2 className="px-3 pt-4 pb-1 text-xs font-semibold text-soft">{core.groups[word]}</h2>}
        {shown.map((item) => (
          <NavLink key={item.to} {...item} />
        ))}
      </div>
    )
  })
}

function Person() {
  const core = useCore()
  const { user } = useSession()
  const navigate = useNavigate()
  const onLeave = (): void => void leave().then(() => navigate({ to: '/login' }))
  return (
    <div className="border-t border-line p-3">
      <Link
        to="/account"
        className="flex items-center gap-3 rounded-lg px-3 py-2 hover:bg-sunken aria-[current=page]:bg-sunken"
      >
        <Icon name="user" />
        <span className="min-w-0">
          <span className="block truncate font-medium">{`${user.firstName} ${user.lastName}`}</span>
          <span className="block truncate text-[13px] text-soft">{wordFor(core.roles, user.role)}</span>
        </span>
      </Link>
      <div className="mt-2 flex flex-wrap gap-2">
        <LanguageChoice />
        <button type="button" className="btn px-3" onClick={onLeave}>
          {core.signOut}
        </button>
      </div>
    </div>
  )
}

const MENU = 'menu'

/** On wide screens next to the page, on phones a sheet that the menu button opens. */
export function Navigation() {
  const core = useCore()
  const { pathname } = useLocation()
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new page closes the sheet
  useEffect(() => {
    const sheet = document.getElementById(MENU)
    if (sheet?.matches(':popover-open')) sheet.hidePopover()
  }, [pathname])
  const inner = (
    <>
      <div className="grow overflow-y-auto p-3">
        <CompanyPicker />
        <Items />
      </div>
      <Person />
    </>
  )
  return (
    <>
      <div className="no-print sticky top-0 hidden h-dvh flex-col border-r border-line bg-panel lg:flex">
        <nav aria-label={core.menu} className="flex min-h-0 grow flex-col">
          <p className="px-6 pt-5 pb-1 text-lg font-semibold tracking-tight">{core.product}</p>
          {inner}
        </nav>
      </div>
      <nav
        id={MENU}
        popover="auto"
        aria-label={core.menu}
        className="fixed inset-y-0 left-0 m-0 h-dvh max-h-none w-[min(19rem,88vw)] border-r border-line bg-panel shadow-2xl backdrop:bg-black/40 open:flex open:flex-col lg:hidden"
      >
        {inner}
      </nav>
    </>
  )
}

export function TopBar() {
  const core = useCore()
  const canSell = useCanSell()
  return (
    <header className="no-print sticky top-0 z-10 flex h-14 items-center gap-2 border-b border-line bg-panel px-2 lg:hidden">
      <button type="button" className="btn btn-quiet" popoverTarget={MENU} aria-label={core.menu}>
        <Icon name="menu" />
      </button>
      <p className="grow text-lg font-semibold tracking-tight">{core.product}</p>
      {canSell && (
        <Link to="/orders/new" className="btn btn-quiet text-brand" aria-label={core.nav.newOrder}>
          <Icon name="plus" />
        </Link>
      )}
    </header>
  )
}
