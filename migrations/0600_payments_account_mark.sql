-- Tells the account that a payment was opened with from another one that took its place. Null: unknown, as for payments
-- of nodes of earlier versions.
alter table payments add column account_mark text;
