-- Each comparison of a company's books looks up whether what it finds is explained.
create index ledger_differences__explained on ledger_differences (company_id, source, subject, what)
  where status = 'explained';
