-- What payers see of a company, and the language in which they read.

alter table companies add column display_name text;
alter table companies add column legal_name text;
alter table companies add column brand_color text check (brand_color ~ '^#[0-9a-f]{6}$');
alter table companies add column support_email text;
alter table companies add column support_phone text;
alter table companies add column terms_url text;

-- Re-encoded by us; the hash of the bytes is its public address.
create table company_logos (
  company_id text primary key references companies (id),
  hash text not null,
  mime text not null check (mime in ('image/png', 'image/webp')),
  bytes bytea not null,
  updated_at timestamptz not null
);
create index company_logos__hash on company_logos (hash);

-- The language that the payer of an order last used on our pages; mails follow it.
create table payer_languages (
  company_id text not null,
  order_id text not null,
  lang text not null check (lang in ('en', 'fr', 'de', 'es', 'it')),
  primary key (company_id, order_id)
);
