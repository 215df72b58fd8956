-- Which authorization a named transaction used: the same number of another wallet or in another token is another one. Null: an
-- earlier version named it; the chain says it once it is asked.
alter table chain_payouts add column left_from text, add column left_token text;
