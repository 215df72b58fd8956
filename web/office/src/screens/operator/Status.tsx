import type { Data } from '../../api/call.ts'
import { useApi } from '../../api/hooks.ts'
import { SLOW_MS } from '../../kit/live.ts'
import { Badge, Loaded, Panel, TableFrame, Time } from '../../kit/parts.tsx'
import { useTexts, wordFor } from '../../texts/lang.ts'
import { statusTexts } from './status-texts.ts'

type StatusData = Data<'getOperatorStatus'>

/** What `doctor` says, what waits, and which processes are there. */
export function Status() {
  const t = useTexts(statusTexts)
  const status = useApi('GET /api/next/operator/status', {}, { liveMs: SLOW_MS })
  return (
    <Loaded query={status}>
      {({ ready, checks, queues, nodes }) => (
        <>
          <Panel
            title={t.checks}
            actions={<Badge tone={ready ? 'good' : 'bad'}>{ready ? t.allGood : t.trouble}</Badge>}
          >
            <ul className="space-y-2 text-sm">
              {[...checks]
                .sort((a, b) => Number(a.ok) - Number(b.ok))
                .map((check) => (
                  <li key={`${check.name}-${check.message}`} className="flex flex-wrap items-baseline gap-x-3 gap-y-1">
                    <Badge tone={check.ok ? 'good' : 'bad'}>{check.name}</Badge>
                    <span className="min-w-0 break-words whitespace-pre-line">{check.message}</span>
                    {check.fix && <span className="min-w-0 break-words text-soft">{check.fix}</span>}
                  </li>
                ))}
            </ul>
          </Panel>
          <div className="grid items-start gap-x-5 lg:grid-cols-2">
            <Queues queues={queues} />
            <Nodes nodes={nodes} />
          </div>
        </>
      )}
    </Loaded>
  )
}

function Queues({ queues }: { queues: StatusData['queues'] }) {
  const t = useTexts(statusTexts)
  return (
    <Panel title={t.queues} flush>
      <TableFrame label={t.queues}>
        <table className="table">
          <thead>
            <tr>
              <th scope="col">{t.queue}</th>
              <th scope="col" className="text-right">
                {t.waiting}
              </th>
              <th scope="col">{t.oldest}</th>
            </tr>
          </thead>
          <tbody>
            {queues.map(({ name, waiting, oldestAt }) => (
              <tr key={name}>
                <td>{wordFor(t.names, name)}</td>
                <td className="text-right tabular-nums">{waiting}</td>
                <td>{oldestAt ? <Time at={oldestAt} ago /> : '–'}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </TableFrame>
    </Panel>
  )
}

function Nodes({ nodes }: { nodes: StatusData['nodes'] }) {
  const t = useTexts(statusTexts)
  return (
    <Panel title={t.nodes} flush>
      <TableFrame label={t.nodes}>
        <table className="table">
          <thead>
            <tr>
              <th scope="col">{t.node}</th>
              <th scope="col" className="text-right">
                {t.connections}
              </th>
              <th scope="col">{t.since}</th>
            </tr>
          </thead>
          <tbody>
            {nodes.map(({ name, address, connections, since }) => (
              <tr key={`${name}-${address}`}>
                <td>{`${name} · ${address}`}</td>
                <td className="text-right tabular-nums">{connections}</td>
                <td>{since ? <Time at={since} ago /> : '–'}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </TableFrame>
    </Panel>
  )
}
