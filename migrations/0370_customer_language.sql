-- In which language customers are written to who have not chosen one; null: that of the company's country.
alter table companies add column customer_language text check (customer_language in ('en', 'fr', 'de', 'es', 'it'));
