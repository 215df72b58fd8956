import { useCan } from '../../api/session.ts'
import { Page } from '../../kit/parts.tsx'
import { Parts, usePart } from '../../kit/Tabs.tsx'
import { useTexts } from '../../texts/lang.ts'
import { Announcements } from './Announcements.tsx'
import { Chains } from './Chains.tsx'
import { Companies } from './Companies.tsx'
import { Status } from './Status.tsx'
import { texts } from './texts.ts'
import { Wallets } from './Wallets.tsx'

/** All companies, and for a SuperAdmin the installation that they run on. */
export function Operator() {
  const t = useTexts(texts)
  const can = useCan()
  const parts = [
    { name: 'companies', word: t.title },
    ...(can('operator.status')
      ? [
          { name: 'system', word: t.system },
          { name: 'wallets', word: t.wallets },
        ]
      : []),
    ...(can('announcements.write') ? [{ name: 'announcements', word: t.announcements }] : []),
  ]
  const part = usePart(parts)
  return (
    <Page title={parts.find(({ name }) => name === part)?.word ?? t.title} lead={part === 'companies' && t.lead}>
      {parts.length > 1 && <Parts parts={parts} label={t.operation} />}
      {part === 'companies' && <Companies />}
      {part === 'system' && (
        <>
          <Status />
          <Chains />
        </>
      )}
      {part === 'wallets' && <Wallets />}
      {part === 'announcements' && <Announcements />}
    </Page>
  )
}
