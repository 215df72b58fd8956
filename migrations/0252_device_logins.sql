-- Logins of a command line: a program asks, a person confirms in the back office, the program fetches its key once.

create table device_logins (
  id text primary key check (id ~ '^[0-9a-f]{24}$'),
  -- SHA-256 of what the program holds
  device_hash text not null unique,
  -- SHA-256 of the code that the person reads and types
  user_hash text not null unique,
  -- the program's own words: shown as a claim, never trusted
  client_name text not null,
  ip text not null,
  scopes text[] not null,
  status text not null default 'pending' check (status in ('pending', 'approved', 'denied', 'used')),
  company_id text references companies (id),
  decided_by text references users (id),
  key_expires_at timestamptz(3),
  api_key_id text references api_keys (id),
  interval_seconds integer not null,
  last_polled_at timestamptz(3),
  created_at timestamptz(3) not null,
  expires_at timestamptz(3) not null
);
create index device_logins__expires_at on device_logins (expires_at);
