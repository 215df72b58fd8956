-- Companies, people, keys, tills and buttons.

create table companies (
  id text primary key check (id ~ '^[0-9a-f]{24}$'),
  name text not null,
  kind text not null default 'company' check (kind in ('company', 'association')),
  country text,
  siret text,
  approved boolean not null default false,
  settlement_address text,
  settlement_network integer,
  webhook_secret_sealed text not null,
  optional_events text[] not null default '{}',
  max_order_amount numeric(20, 2) not null default 100000,
  identity_threshold_amount numeric(20, 2) not null default 1000,
  tolerance_bps integer not null default 50 check (tolerance_bps between 0 and 10000),
  tolerance_max_units numeric(38, 0) not null default 1000000,
  late_accept_hours integer not null default 24 check (late_accept_hours >= 0),
  late_after_cancel text not null default 'hold' check (late_after_cancel in ('accept', 'hold')),
  refund_approval boolean not null default false,
  fee_bps integer not null default 0 check (fee_bps between 0 and 5000),
  -- grows with every change: a cached copy proves itself by it inside the statement that uses it
  version bigint not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now()
);

create table users (
  id text primary key check (id ~ '^[0-9a-f]{24}$'),
  email text not null,
  email_key text not null unique,
  password_hash text not null,
  first_name text not null,
  last_name text not null,
  role text not null check (role in
    ('SuperAdmin', 'SuperManager', 'Manager', 'Association', 'Cashier', 'Observer', 'SimpleUser', 'Service')),
  phone_number text,
  phone_number_country text,
  company_id text references companies (id),
  lang text not null default 'en',
  verified_at timestamptz(3),
  approved_at timestamptz(3),
  disabled_at timestamptz(3),
  two_factor_enabled boolean not null default false,
  last_connection_at timestamptz(3),
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now()
);
create index users__company on users (company_id);

create table super_manager_companies (
  user_id text not null references users (id),
  company_id text not null references companies (id),
  primary key (user_id, company_id)
);

create table api_keys (
  id text primary key,
  company_id text not null references companies (id),
  created_by text references users (id),
  name text not null,
  public_id text not null unique,
  secret_hash text not null,
  scopes text[] not null,
  expires_at timestamptz(3),
  revoked_at timestamptz(3),
  last_used_at timestamptz(3),
  created_at timestamptz(3) not null default now()
);
create index api_keys__company on api_keys (company_id);
create unique index api_keys__secret on api_keys (secret_hash);

-- Keys of the server itself (access tokens), sealed by the master key; rotated with overlap.
create table server_keys (
  id text primary key,
  purpose text not null,
  sealed text not null,
  created_at timestamptz(3) not null default now(),
  retired_at timestamptz(3)
);

create table sales_points (
  id text primary key,
  company_id text not null references companies (id),
  name text not null,
  city text, country text, street text, zip_code text, logo_url text,
  lat double precision, lng double precision,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now()
);
create index sales_points__company on sales_points (company_id, id);

create table collectors (
  id text primary key,
  company_id text not null references companies (id),
  sales_point_id text not null references sales_points (id),
  identifier text not null,
  uuid text,
  active boolean not null default true,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  unique (company_id, identifier)
);

create table collector_cashiers (
  collector_id text not null references collectors (id),
  user_id text not null references users (id),
  primary key (collector_id, user_id)
);
create index collector_cashiers__user on collector_cashiers (user_id);

create table buy_buttons (
  id text primary key,
  company_id text not null references companies (id),
  name text not null,
  website_url text not null,
  website_origin text not null,
  price text not null,
  currency text not null,
  item_ref text,
  callback_url text,
  deleted_at timestamptz(3),
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now()
);
create index buy_buttons__company on buy_buttons (company_id, id);

create table button_sessions (
  id text primary key,
  company_id text not null references companies (id),
  button_id text not null references buy_buttons (id),
  code text not null unique,
  order_ref text not null,
  price text not null,
  currency text not null,
  button_name text,
  callback_url text, cancel_url text, return_url text,
  -- the live order that uses this session; freed when that order ends unpaid
  order_id text,
  ended_at timestamptz(3),
  created_at timestamptz(3) not null default now()
);
create unique index button_sessions__live_ref on button_sessions (company_id, order_ref) where ended_at is null;
