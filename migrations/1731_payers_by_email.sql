-- Orders by their payer's e-mail, in one company or in all. The second index holds the rows whose key belongs to another
-- text: none but after an upgrade, and while an older node writes. No other index has its order, so that a statement
-- that asks for it reads this one.
create index payer_information__email on payer_information (email_key, company_id, order_id)
  where email_key is not null and keyed_for = split_part(sealed, '.', 3);
create index payer_information__unkeyed on payer_information (updated_at)
  where keyed_for is distinct from split_part(sealed, '.', 3);
