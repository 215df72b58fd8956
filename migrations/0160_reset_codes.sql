-- A keyed hash of the address that a reset was asked for, known or not: wrong codes are counted by it, so that the daily
-- limit tells nobody whether an account exists.
alter table password_resets add column account_key text;
create index password_resets__account on password_resets (account_key, created_at);
