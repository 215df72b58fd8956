-- Addresses that make a new order at each visit: donations, tables in a café, the printed code of a till.

create table static_links (
  id text primary key,
  company_id text not null references companies (id),
  -- in the public address
  code text not null unique,
  name text not null,
  -- the till that its orders belong to
  collector_id text not null references collectors (id),
  currency text not null,
  -- decimal text with the currency's digits; null: the payer types it, within the limits
  amount text,
  min_amount text,
  max_amount text,
  webhook_url text,
  return_url text,
  active boolean not null default true,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  check (amount is null or (min_amount is null and max_amount is null))
);
create index static_links__company on static_links (company_id, id);

-- what a link brought: its orders carry it as their creator
create index orders__static_link on orders (company_id, created_by) where created_by like 'static-link:%';

-- a further language needs no migration
alter table payer_languages drop constraint payer_languages_lang_check;
alter table payer_languages add constraint payer_languages_lang_check check (lang ~ '^[a-z]{2}$');
