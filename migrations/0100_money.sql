-- Money that left the chain after it counted, refunds that need cover, and books that stop payouts when they differ.

alter table mispayments drop constraint mispayments_status_check;
alter table mispayments
  add constraint mispayments_status_check
    check (status in ('open', 'accepted', 'refunded', 'ignored', 'borne', 'resolved')),
  -- orphaned money: who pays for it; kept when the money comes back
  add column borne_by text check (borne_by in ('operator', 'company')),
  add check (status <> 'borne' or borne_by is not null);

alter table ledger_entries drop constraint ledger_entries_account_check;
alter table ledger_entries add constraint ledger_entries_account_check check (account in
  ('payer_clearing', 'own_account', 'company_payable', 'fees', 'refunds', 'suspense', 'losses', 'rounding',
    'settlement_transit'));

alter table companies
  -- stays with the operator at each settlement, as cover for refunds
  add column reserve_units numeric(38, 0) not null default 0 check (reserve_units >= 0),
  -- how long after its end an unpaid order can be paid at a fresh rate; 0: never
  add column requote_hours integer not null default 24 check (requote_hours >= 0),
  -- payment links: the rate is fixed for so many minutes; null: as long as the link lives
  add column link_quote_minutes integer check (link_quote_minutes >= 5);

-- paid out although the company's balance did not cover it: a SuperAdmin's word
alter table refunds add column without_cover boolean not null default false;

-- when it passed the last check and was handed to the chain; from then on it is only followed
alter table settlements add column released_at timestamptz(3);
update settlements set released_at = updated_at where status = 'approved';

-- Where the books and the facts differ. An open row stops the company's settlements and refunds.
create table ledger_differences (
  -- '' for the operator's own wallets
  company_id text not null,
  id text not null,
  source text not null check (source in ('books', 'transfers', 'balances', 'providers')),
  subject text not null,
  what text not null,
  booked text not null,
  expected text not null,
  status text not null default 'open' check (status in ('open', 'explained', 'gone')),
  explained_by text,
  reason text,
  found_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  primary key (company_id, id),
  check (status <> 'explained' or reason is not null)
);
create unique index ledger_differences__open on ledger_differences (company_id, source, subject, what)
  where status = 'open';

-- What the operator's wallets held when their transfers were last compared with what we sent.
create table wallet_audits (
  chain_id integer not null,
  address text not null,
  block_number bigint not null,
  balance_units numeric(78, 0) not null,
  primary key (chain_id, address)
);

-- When a provider was last asked whether a paid payment is still paid.
alter table payments add column reconciled_at timestamptz(3);
create index payments__unreconciled on payments (coalesce(reconciled_at, opened_at))
  where status = 'paid' and channel <> 'crypto';

-- A loss that was noticed before it was booked is booked now.
insert into ledger_journals (company_id, id, kind, cause_id, order_id, at)
select company_id, id, 'loss', payment_id || ':' || id, order_id, created_at
from mispayments where kind = 'orphaned' and status = 'open' and units > 0;
insert into ledger_entries (company_id, journal_id, account, asset, units)
select m.company_id, m.id, l.account, 'USDC', l.units
from mispayments m
join payments p on p.company_id = m.company_id and p.id = m.payment_id
cross join lateral (values
  ('suspense', m.units),
  (case when p.own_account and p.channel <> 'coinbase' then 'own_account' else 'payer_clearing' end, -m.units)
) as l (account, units)
where m.kind = 'orphaned' and m.status = 'open' and m.units > 0;
