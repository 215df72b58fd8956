-- Till devices: tablets and phones that a manager enrolled, and the PINs that cashiers sign in with there.

create table till_devices (
  id text primary key check (id ~ '^[0-9a-f]{24}$'),
  company_id text not null references companies (id),
  collector_id text not null references collectors (id),
  name text not null,
  -- SHA-256 of the code that is typed on the device; null once it was used
  enrolment_hash text unique,
  enrolment_expires_at timestamptz(3),
  -- SHA-256 of the device's cookie; null before
  token_hash text unique,
  user_agent text,
  created_at timestamptz(3) not null,
  enrolled_at timestamptz(3),
  last_seen_at timestamptz(3),
  revoked_at timestamptz(3)
);
create index till_devices__company on till_devices (company_id, id desc);

create table till_pins (
  user_id text primary key references users (id),
  -- argon2id of the PIN under a key that is not in the database: six digits alone would be guessed
  pin_hash text not null,
  changed_at timestamptz(3) not null
);

-- wrong PINs in a row, by device and person; the fifth locks until the person sets a new PIN
create table till_pin_failures (
  device_id text not null references till_devices (id),
  user_id text not null references users (id),
  wrong integer not null,
  primary key (device_id, user_id)
);

alter table sessions add column till_device_id text references till_devices (id);
alter table sessions drop constraint sessions_kind_check;
alter table sessions add constraint sessions_kind_check check (kind in ('dashboard', 'application', 'till'));
create index sessions__till_device on sessions (till_device_id) where till_device_id is not null;
