-- Money that a person sent and named, settlements that wait for their chain, and what the books are recomputed from.

-- the transaction in tx_hash was named by a person: it is watched, and nothing is sent by us
alter table refunds add column by_hand boolean not null default false;

alter table settlements
  add column by_hand boolean not null default false,
  add column last_words text,
  add column checks integer not null default 0,
  add column next_check_at timestamptz(3);
create index settlements__checks on settlements (next_check_at) where next_check_at is not null;
create index settlements__list on settlements (company_id, id desc);

-- A transaction that a person names settles one thing in its life.
create table claimed_transactions (
  network integer not null,
  tx_hash text not null check (tx_hash ~ '^0x[0-9a-f]{64}$'),
  -- the refund or the settlement
  cause_id text not null,
  primary key (network, tx_hash)
);

-- set when a payment is booked as its order's: what of it is the price (less than what was due when less was accepted),
-- and the company's fee at that time
alter table payments
  add column price_units numeric(38, 0) check (price_units <= received_units),
  add column fee_bps integer;

create index mispayments__order on mispayments (company_id, order_id);
create index mispayments__open on mispayments (company_id, id desc) where status = 'open';
create index ledger_journals__time on ledger_journals (company_id, at);
