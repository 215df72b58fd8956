-- What kind of installation this database belongs to, and a mark made with its master key: a start in the other mode,
-- or with another key, is refused before it writes anything.
create table installation (
  only_row boolean primary key default true check (only_row),
  mode text not null check (mode in ('sandbox', 'live')),
  key_mark text not null,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now()
);
