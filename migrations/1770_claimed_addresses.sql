-- An invitation to an address that a replaceable account holds: the key that the invited account takes when the mailed
-- link is used. Until then email_key is a placeholder, and the account that holds the address does not change.
alter table users add column claimed_email_key text;
-- a node of the version before would let the person in without the address
alter table users add constraint users__claim_unused
  check (claimed_email_key is null or (password_hash = '!' and verified_at is null));
create unique index users__claim on users (claimed_email_key, (coalesce(company_id, '')))
  where claimed_email_key is not null;
