-- Since when a refund waits for an account, a channel or a chain that is not set up: a person has to act. Null: it does not,
-- or a node of an earlier version has polled it last; the next poll of this version sets it.
alter table refunds add column account_gone_at timestamptz(3);
create index refunds__account_gone on refunds (account_gone_at) where account_gone_at is not null;
