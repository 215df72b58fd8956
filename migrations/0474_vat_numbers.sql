-- The VAT number of a company in the EU, the United Kingdom or Switzerland; siret is France's own.
alter table companies add column vat_number text;
