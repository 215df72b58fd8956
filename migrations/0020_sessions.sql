-- Sessions, second factors, resets, verification, lock-outs, and the sandbox's mailbox.

alter table users
  add column totp_sealed text,
  -- shown to the user, not proven yet
  add column totp_pending_sealed text,
  add column totp_enabled_at timestamptz(3),
  -- the newest time step that was accepted: no code works twice, and none that is older
  add column totp_last_step bigint,
  add column wrong_codes integer not null default 0,
  add column wrong_codes_since timestamptz(3),
  add column password_changed_at timestamptz(3);

create table sessions (
  id text primary key check (id ~ '^[0-9a-f]{24}$'),
  user_id text not null references users (id),
  kind text not null check (kind in ('dashboard', 'application')),
  -- its refresh cookie carries the user's id in its name
  named_cookie boolean not null default false,
  idle_ms bigint not null,
  second_factor_at timestamptz(3),
  ip text,
  user_agent text,
  created_at timestamptz(3) not null,
  last_used_at timestamptz(3) not null,
  idle_expires_at timestamptz(3) not null,
  expires_at timestamptz(3) not null,
  revoked_at timestamptz(3),
  revoked_reason text
);
create index sessions__user on sessions (user_id, expires_at);
create index sessions__age on sessions (expires_at);

create table refresh_tokens (
  hash text primary key,
  session_id text not null references sessions (id) on delete cascade,
  created_at timestamptz(3) not null,
  replaced_at timestamptz(3)
);
create index refresh_tokens__session on refresh_tokens (session_id);

create table otp_challenges (
  id text primary key,
  -- null for a step-up, which is bound to its session instead
  token_hash text unique,
  user_id text not null references users (id),
  session_id text references sessions (id) on delete cascade,
  kind text not null check (kind in ('dashboard', 'application')),
  named_cookie boolean not null default false,
  code_hash text,
  code_sent_at timestamptz(3),
  code_expires_at timestamptz(3),
  codes_sent integer not null default 0,
  wrong_codes integer not null default 0,
  created_at timestamptz(3) not null,
  expires_at timestamptz(3) not null,
  ended_at timestamptz(3),
  check ((token_hash is null) <> (session_id is null))
);
create index otp_challenges__user on otp_challenges (user_id);
create index otp_challenges__session on otp_challenges (session_id) where session_id is not null;
create index otp_challenges__age on otp_challenges (expires_at);

create table recovery_codes (
  user_id text not null references users (id),
  code_hash text not null,
  used_at timestamptz(3),
  primary key (user_id, code_hash)
);

create table password_resets (
  token_hash text primary key,
  -- null for an unknown address: such a row is written all the same, so that both take the same time
  user_id text references users (id),
  kind text not null check (kind in ('link', 'application', 'invitation')),
  proof_hash text unique,
  code_hash text,
  wrong_codes integer not null default 0,
  proven_at timestamptz(3),
  created_at timestamptz(3) not null,
  expires_at timestamptz(3) not null,
  used_at timestamptz(3)
);
create index password_resets__user on password_resets (user_id, created_at);
create index password_resets__age on password_resets (expires_at);

create table email_verifications (
  token_hash text primary key,
  user_id text not null references users (id),
  email_key text not null,
  created_at timestamptz(3) not null,
  expires_at timestamptz(3) not null,
  used_at timestamptz(3)
);
create index email_verifications__user on email_verifications (user_id);

-- By a keyed hash of the address, known or not, so that a lock tells nobody whether an account exists.
create table login_failures (
  account_key text primary key,
  wrong integer not null,
  last_at timestamptz(3) not null,
  locked_until timestamptz(3)
);

-- Sandbox without SMTP_URL only: what would have been sent.
create table mails (
  id text primary key,
  recipient text not null,
  subject text not null,
  body_text text not null,
  body_html text not null,
  created_at timestamptz(3) not null
);
create index mails__recipient on mails (lower(recipient), id desc);
