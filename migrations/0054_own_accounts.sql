-- Money that came to a company's own account at a provider was never ours: it stands in an account of its own, and a
-- settlement pays what is owed less what the company holds itself.
alter table ledger_entries drop constraint ledger_entries_account_check;
alter table ledger_entries add constraint ledger_entries_account_check check (account in
  ('payer_clearing', 'own_account', 'company_payable', 'fees', 'refunds', 'suspense', 'rounding', 'settlement_transit'));
