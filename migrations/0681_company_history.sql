-- What receipts say about a company, with the time until which it was valid. Today's is in companies.
create table company_history (
  company_id text not null,
  until_at timestamptz(3) not null,
  name text not null,
  display_name text,
  legal_name text,
  siret text,
  vat_number text,
  primary key (company_id, until_at)
);
