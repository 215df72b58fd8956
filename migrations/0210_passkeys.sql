-- Passkeys (WebAuthn) as a second factor. The challenge of a registration is the user's; that of a login or a step-up
-- belongs to its pending second factor.
create table passkeys (
  id text primary key,
  user_id text not null references users,
  credential_id text not null unique,
  public_key bytea not null,
  counter bigint not null,
  transports text[] not null default '{}',
  name text not null,
  created_at timestamptz(3) not null,
  last_used_at timestamptz(3)
);
create index passkeys_user on passkeys (user_id);
alter table users add column passkey_challenge text, add column passkey_challenge_at timestamptz(3);
alter table otp_challenges add column passkey_challenge text;
