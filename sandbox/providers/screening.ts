import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { button, escapeHtml, shell } from './payer-console/pages.ts'
import {
  CLEAN,
  FAULTS,
  type Fault,
  LEVELS,
  type Listing,
  RISK_TYPES,
  RISKS,
  SANCTIONED,
  ScreeningList,
  SOURCES,
} from './screening/list.ts'
import { addressScreening, sanctionsApi, trmApi } from './screening/services.ts'

/** The oracle contract on the sandbox chain, as the switches here need it. */
export type Oracle = {
  address: string
  setSanctioned(address: string, sanctioned: boolean): Promise<void>
  setFault(fault: 'empty' | 'revert' | null): Promise<void>
}

type Options = {
  url: string
  chainId: number
  /** Sanctioned by the story `kyt-sanctioned`. */
  payerAddress: string
  oracle: Oracle | null
  /** Stores who is listed; null: in memory. */
  file: string | null
  secretOf(purpose: string): string
  now(): number
}

/** Stand-ins for the screening services, and switches for their answers. */
export type Screening = {
  register(app: FastifyInstance): Promise<void>
  /** @returns whether it knows the story */
  startStory(name: string, options: { seconds?: number }): Promise<boolean>
  /** Settings with which the service uses them: variable name to value. */
  variables: Record<string, string>
}

const ADDRESS = /^(0x[0-9a-fA-F]{40}|[13][A-Za-z0-9]{25,34})$/
const OUTAGE_SECONDS = 5

const member = <Member>(members: readonly Member[], value: unknown): Member | undefined =>
  members.find((one) => one === value)

/** The part of a body that concerns an address; null when a value is not in its list. */
function readListing(body: Record<string, unknown>): Partial<Listing> | null {
  const { sanctioned, sanctions, oracle, risk, trm } = body
  const all = sanctioned === undefined ? {} : sanctioned === true || sanctioned === 'true' ? SANCTIONED : CLEAN
  const { riskType, level } = Object(trm) as { riskType?: unknown; level?: unknown }
  const type = member(RISK_TYPES, riskType)
  const score = member(LEVELS, level)
  const isTrmRight = trm === undefined || trm === null || (type !== undefined && score !== undefined)
  if (!isTrmRight || (risk !== undefined && !member(RISKS, risk))) return null
  return {
    ...all,
    ...(typeof sanctions === 'boolean' ? { sanctions } : {}),
    ...(typeof oracle === 'boolean' ? { oracle } : {}),
    ...(risk === undefined ? {} : { risk: member(RISKS, risk) ?? 'Low' }),
    ...(trm === null ? { trm: null } : {}),
    ...(type !== undefined && score !== undefined ? { trm: { riskType: type, level: score } } : {}),
  }
}

function page(list: ScreeningList): string {
  const rows = list.all().map(([address, listing]) => {
    const trm = listing.trm ? `${listing.trm.riskType} ${listing.trm.level}` : 'none'
    const cells = [address, listing.sanctions ? 'listed' : 'no', listing.oracle ? 'listed' : 'no', listing.risk, trm]
    const clear = button(`/screening/addresses/${encodeURIComponent(address)}/clear`, 'Clear')
    return `<tr>${cells.map((cell) => `<td>${escapeHtml(cell)}</td>`).join('')}<td>${clear}</td></tr>`
  })
  const head = '<tr><th>Address</th><th>Sanctions API</th><th>Oracle</th><th>Risk</th><th>TRM</th><th></th></tr>'
  const faults = Object.entries(list.faults()).map(([source, fault]) => `<li>${source}: ${fault ?? 'works'}</li>`)
  return shell(
    'Screening (sandbox)',
    `<h1>Address screening</h1><table>${head}${rows.join('')}</table>
<form method="post" action="/screening/addresses"><p><label>Address <input name="address" required></label>
<input type="hidden" name="sanctioned" value="true"><button class="main">Sanction this address</button></p></form>
<h2>Services</h2><ul>${faults.join('')}</ul>
${button('/stories/kyt-outage', 'Take all away for five seconds')}${button('/screening/reset', 'Reset everything')}
<p><a href="/payments">all payments</a></p>`,
  )
}

export function openScreening(options: Options): Screening {
  const { url, chainId, payerAddress, oracle, secretOf } = options
  const list = new ScreeningList(options)
  const keys = {
    sanctions: secretOf('chainalysis-sanctions'),
    risk: secretOf('chainalysis-risk'),
    trm: secretOf('trm'),
  }

  const setListing = async (address: string, change: Partial<Listing>): Promise<Listing> => {
    if (change.oracle !== undefined && address.startsWith('0x')) await oracle?.setSanctioned(address, change.oracle)
    return list.set(address, change)
  }
  const clear = async (address: string): Promise<void> => {
    if (list.find(address).oracle && address.startsWith('0x')) await oracle?.setSanctioned(address, false)
    list.clear(address)
  }
  const reset = async (): Promise<void> => {
    for (const [address] of list.all()) await clear(address)
    for (const source of SOURCES) list.setFault(source, null)
    await setOracleFault(null)
  }
  const done = (request: FastifyRequest, reply: FastifyReply, answer: unknown) =>
    /text\/html/.test(String(request.headers.accept ?? '')) ? reply.redirect('/screening', 303) : answer

  const setFault = async (source: string, fault: Fault | null, seconds?: number): Promise<boolean> => {
    if (source === 'oracle') return setOracleFault(fault)
    const sources = source === 'all' ? [...SOURCES] : SOURCES.filter((one) => one === source)
    for (const one of sources) list.setFault(one, fault, seconds)
    return sources.length > 0
  }
  /** The oracle is a contract: it can answer nothing, or revert. */
  const setOracleFault = async (fault: Fault | null): Promise<boolean> => {
    await oracle?.setFault(fault === null ? null : fault === 'empty' ? 'empty' : 'revert')
    if (oracle) list.setOracleFault(fault)
    return oracle !== null
  }

  const registerSwitches = (app: FastifyInstance): void => {
    type Body = Record<string, unknown> | undefined
    app.get('/screening', async (request, reply) => {
      if (/text\/html/.test(String(request.headers.accept ?? '')))
        return reply.type('text/html; charset=utf-8').send(page(list))
      return { addresses: Object.fromEntries(list.all()), faults: list.faults(), oracle: oracle?.address ?? null }
    })
    const put = async (request: FastifyRequest, reply: FastifyReply, address: unknown) => {
      const change = readListing((request.body ?? {}) as Record<string, unknown>)
      if (typeof address !== 'string' || !ADDRESS.test(address) || change === null)
        return reply.code(422).send({
          error: 'Send {"sanctioned": true}, or any of sanctions, oracle, risk, trm {"riskType", "level"}.',
        })
      return done(request, reply, { address, ...(await setListing(address, change)) })
    }
    app.post<{ Body: Body }>('/screening/addresses', (request, reply) => put(request, reply, request.body?.address))
    app.post<{ Params: { address: string }; Body: Body }>('/screening/addresses/:address', (request, reply) =>
      put(request, reply, request.params.address),
    )
    app.post<{ Params: { address: string } }>('/screening/addresses/:address/clear', async (request, reply) => {
      await clear(request.params.address)
      return done(request, reply, { address: request.params.address, ...list.find(request.params.address) })
    })
    app.post<{ Params: { source: string }; Body: Body }>('/screening/faults/:source', async (request, reply) => {
      const { fault = null, seconds } = request.body ?? {}
      const wanted = fault === null ? null : member(FAULTS, fault)
      const known =
        wanted === undefined ? false : await setFault(request.params.source, wanted, Number(seconds) || undefined)
      if (known) return done(request, reply, list.faults())
      return reply
        .code(422)
        .send({ error: `Sources: ${SOURCES.join(', ')}, oracle, all. Faults: ${FAULTS.join(', ')}.` })
    })
    app.post('/screening/reset', async (request, reply) => {
      await reset()
      return done(request, reply, { addresses: {}, faults: list.faults() })
    })
  }

  const variables = {
    KYT_CHAINALYSIS_BASE_URL: `${url}/chainalysis/api/v1`,
    KYT_CHAINALYSIS_API_KEY: keys.sanctions,
    KYT_CHAINALYSIS_RISK_BASE_URL: `${url}/chainalysis-risk`,
    KYT_CHAINALYSIS_RISK_TOKEN: keys.risk,
    KYT_TRM_BASE_URL: `${url}/trm`,
    KYT_TRM_API_KEY: keys.trm,
    ...(oracle ? { [`KYT_ORACLE_${chainId}`]: oracle.address } : {}),
  }

  return {
    variables,
    async register(app) {
      // a story that was cut short would hold every payment of the test wallet for ever
      await clear(payerAddress)
      registerSwitches(app)
      const under = (prefix: string, routes: (scope: FastifyInstance) => void) =>
        app.register(
          async (scope) => {
            scope.removeAllContentTypeParsers()
            scope.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
            routes(scope)
          },
          { prefix },
        )
      await under('/chainalysis/api/v1', (scope) => sanctionsApi(scope, list, keys.sanctions))
      await under('/chainalysis-risk', (scope) => addressScreening(scope, list, keys.risk))
      await under('/trm', (scope) => trmApi(scope, list, keys.trm))
    },
    async startStory(name, { seconds = OUTAGE_SECONDS }) {
      if (name === 'kyt-sanctioned') await setListing(payerAddress, SANCTIONED)
      else if (name === 'kyt-outage') await setFault('all', '503', seconds)
      else return false
      return true
    },
  }
}
