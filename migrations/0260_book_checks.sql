-- When the books of a company were last compared with the facts; what was found stands in ledger_differences.
create table book_checks (
  company_id text primary key,
  checked_at timestamptz(3) not null
);
