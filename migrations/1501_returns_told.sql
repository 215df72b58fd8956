-- The last answer in which its provider listed what came of a payment and what it sent back, as JSON text. What of that
-- is a refund depends on ours, so it is read again when one of them ends. Null: none was told since.
alter table payments add column returns_told text;
