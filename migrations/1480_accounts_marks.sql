-- All marks that are known to be of the account at its provider, which may have payments under several: `account_mark`,
-- which its new payments get, comes first. Where it does not, an older node has saved the account since, and it has that
-- mark alone, as an account from before has.
alter table channel_accounts add column account_marks text[];
