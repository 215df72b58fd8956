-- A company's balance is the sum of all its entries in an account: read from the index alone, without the table.
create index ledger_entries__balance on ledger_entries (company_id, account, asset) include (units);
drop index ledger_entries__account;
