import { useState } from 'react'
import type { Query, User } from '../../api/call.ts'
import { useApi } from '../../api/hooks.ts'
import { useCan, useSession } from '../../api/session.ts'
import { useAddress } from '../../frame/address.ts'
import { useCompanyQuery } from '../../frame/company.tsx'
import { Icon } from '../../kit/icons.tsx'
import { FilterRow, PagedList } from '../../kit/lists.tsx'
import { Badge, Empty, Page, Time } from '../../kit/parts.tsx'
import { usePage } from '../../kit/Tabs.tsx'
import { useCore, useTexts, wordFor } from '../../texts/lang.ts'
import { Invite } from './Invite.tsx'
import { PersonActions } from './PersonActions.tsx'
import { texts } from './texts.ts'
import { waits } from './waits.ts'

const LIMIT = 20

export function People() {
  const t = useTexts(texts)
  const can = useCan()
  const [{ search }] = useAddress()
  const [page] = usePage()
  const [isInviting, setInviting] = useState(false)
  const query = { ...useCompanyQuery(), page, limit: LIMIT, ...(search ? { search } : {}) } as Query<'listUsers'>
  const users = useApi('GET /api/next/users', { query })
  const invite = can('users.invite') && (
    <button type="button" className="btn btn-fill" onClick={() => setInviting(true)}>
      <Icon name="plus" />
      {t.invite}
    </button>
  )
  return (
    <Page title={t.title} lead={t.lead} actions={invite}>
      <FilterRow filters={[{ name: 'search', label: t.search }]} />
      <PagedList
        query={users}
        rows={(data) => data.users}
        keyOf={(user) => user._id}
        total={(data) => data.total}
        limit={LIMIT}
        look="grid"
        empty={<Empty icon="people" title={t.empty} />}
      >
        {(user) => <Card user={user} />}
      </PagedList>
      {isInviting && <Invite onClose={() => setInviting(false)} />}
    </Page>
  )
}

function State({ user }: { user: User }) {
  const t = useTexts(texts)
  if (user.disabled) return <Badge tone="bad">{t.disabled}</Badge>
  if (waits(user)) return <Badge tone="warn">{t.pending}</Badge>
  if (user.invited) return <Badge tone="warn">{t.waiting}</Badge>
  return user.valid ? <Badge tone="good">{t.active}</Badge> : <Badge tone="warn">{t.unverified}</Badge>
}

function Card({ user }: { user: User }) {
  const t = useTexts(texts)
  const core = useCore()
  const { user: me } = useSession()
  const isMe = user._id === me._id
  // who has only just registered has not come back yet, but is here
  const first = isMe ? t.here : t.never
  return (
    <article className="panel h-full p-4">
      <div className="mb-1 flex flex-wrap items-center gap-2">
        <h2 className="min-w-0 font-semibold break-words">{`${user.firstName} ${user.lastName}`}</h2>
        {isMe && <Badge tone="info">{t.you}</Badge>}
        <State user={user} />
      </div>
      <p className="break-all text-soft">{user.email}</p>
      <p className="mt-2">
        <strong>{wordFor(core.roles, user.role)}</strong>
        {user.company && <span className="text-soft">{` · ${user.company.name}`}</span>}
      </p>
      <p className="text-sm text-soft">{wordFor(t.means, user.role)}</p>
      <p className="mt-2 text-sm text-soft">
        {user.lastConnection ? (
          <>
            {t.last} <Time at={user.lastConnection} ago />
          </>
        ) : (
          first
        )}
      </p>
      {!isMe && <PersonActions user={user} />}
    </article>
  )
}
