-- Companies may be paid to their own wallets: by an account key of theirs, or by addresses that several orders share.

-- Null: the operator's key.
alter table deposit_keys add column company_id text;

-- A shared address comes from no key.
alter table deposit_addresses
  alter column key_id drop not null,
  alter column key_index drop not null,
  add constraint deposit_addresses__key check ((key_id is null) = (key_index is null));

-- Which payment a shared address serves from when on; the newest one counts.
create table deposit_reservations (
  company_id text not null,
  reference text not null,
  address text not null check (address ~ '^0x[0-9a-f]{40}$'),
  -- the exact amount that tells the payment apart; null: the address serves one payment at a time
  units numeric(30, 0),
  -- who said before that he would pay
  sender text check (sender ~ '^0x[0-9a-f]{40}$'),
  from_at timestamptz(3) not null default now(),
  until_at timestamptz(3) not null,
  primary key (company_id, reference)
);
create index deposit_reservations__address on deposit_reservations (address, units, from_at);
