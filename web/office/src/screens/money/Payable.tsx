import type { Data, Query } from '../../api/call.ts'
import { useApi } from '../../api/hooks.ts'
import { useCan } from '../../api/session.ts'
import { useCompanyQuery } from '../../frame/company.tsx'
import { fromUnits, toUnits } from '../../kit/decimal.ts'
import { formatMoney } from '../../kit/format.ts'
import { SUM_MS } from '../../kit/live.ts'
import { Loaded, Money } from '../../kit/parts.tsx'
import { useLang, useTexts } from '../../texts/lang.ts'
import { type Account, balanceOf, useAccountWords } from './accounts.ts'
import { texts } from './texts.ts'

type Ledger = Data<'readLedger'>

type Payout = Pick<Ledger['payout'], 'ready' | 'kept' | 'undecided'>

/** An older node beside a newer office says less: without a payout it is all that is owed. */
function payoutOf({ payout, balances }: Pick<Ledger, 'balances'> & { payout?: Partial<Payout> }): Payout {
  const owed = balances.find(({ account }) => account === 'company_payable')
  const ready = balanceOf('company_payable', owed?.closing ?? '0')
  return { ready, kept: '0', undecided: '0', ...payout }
}

/** In suspense stands what fits no order, less what was lost of orders: two figures that say nothing as one. */
const shownOf = (account: Account, closing: string, { undecided }: Payout): string => {
  const balance = balanceOf(account, closing)
  return account === 'suspense' ? fromUnits(toUnits(balance) + toUnits(undecided)) : balance
}

/** What a merchant looks at first: what is ready, what is on its way, what waits for a decision. */
const SHOWN: readonly Account[] = ['settlement_transit', 'suspense']

export function Payable() {
  const query = { ...useCompanyQuery(), limit: 1 } as Query<'readLedger'>
  const ledger = useApi('GET /api/next/ledger', { query }, { liveMs: SUM_MS })
  return <Loaded query={ledger}>{(data) => <Sums balances={data.balances} payout={payoutOf(data)} />}</Loaded>
}

const isSome = (amount: string): boolean => /[1-9]/.test(amount)

function Sums({ balances, payout }: Pick<Ledger, 'balances'> & { payout: Payout }) {
  const { ready, kept, undecided } = payout
  const t = useTexts(texts)
  const lang = useLang()
  const can = useCan()
  const words = useAccountWords()
  const isDebt = toUnits(ready) < 0n
  const owes = can('refunds.decide') ? t.owesYou : t.owes
  return (
    <dl className="mb-5 grid gap-3 sm:grid-cols-3">
      <div className="panel p-4">
        <dt className="text-sm text-soft">{isDebt ? owes : t.ready}</dt>
        <dd className="mt-1 text-2xl font-semibold">
          <Money amount={isDebt ? fromUnits(-toUnits(ready)) : ready} asset="USDC" />
        </dd>
        <dd className="text-sm text-soft">{t.says.company_payable}</dd>
        {isSome(kept) && <dd className="text-sm text-soft">{t.kept(formatMoney(lang, kept, 'USDC'))}</dd>}
        {isSome(undecided) && <dd className="text-sm text-bad">{t.undecided(formatMoney(lang, undecided, 'USDC'))}</dd>}
      </div>
      {SHOWN.map((account) => {
        const balance = balances.find((one) => one.account === account)
        return (
          <div key={account} className="panel p-4">
            <dt className="text-sm text-soft">{words[account]}</dt>
            <dd className="mt-1 text-2xl font-semibold">
              <Money amount={shownOf(account, balance?.closing ?? '0', payout)} asset={balance?.asset ?? 'USDC'} />
            </dd>
            <dd className="text-sm text-soft">{t.says[account as keyof typeof t.says]}</dd>
          </div>
        )
      })}
    </dl>
  )
}
