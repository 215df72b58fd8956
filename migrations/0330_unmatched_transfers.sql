-- Transfers to an address of a company's own wallet that no order asked for: a person matches each to an order, or sets
-- it aside.
create table unmatched_transfers (
  -- '' where the operator holds the address
  company_id text not null,
  -- of chain_transfers
  transfer_id text not null,
  -- USDC below the dust limit, which anyone can send: not shown unless asked for
  is_dust boolean not null,
  status text not null default 'open' check (status in ('open', 'matched', 'ignored')),
  -- the order, and the reservation of its payment, that it counts for
  order_id text,
  reference text,
  decided_by text,
  reason text,
  noticed_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  primary key (company_id, transfer_id),
  check ((status = 'matched') = (order_id is not null and reference is not null)),
  check ((status = 'open') = (decided_by is null))
);
create index unmatched_transfers__status on unmatched_transfers (company_id, status, transfer_id desc);
create index unmatched_transfers__reference on unmatched_transfers (company_id, reference) where reference is not null;
create index deposit_reservations__sender on deposit_reservations (address, sender) where sender is not null;

-- What arrived before is read once more, by its change, as if it had just been announced.
alter table payment_chain_cursors add column unmatched_change bigint not null default 0;
