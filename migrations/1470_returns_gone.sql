-- Of what a provider lists as sent back to the payer: what had neither paid an order nor been decided about by then. The
-- rest of it is a refund. Null: no returns of the payment were told since.
alter table payments add column returns_gone_units numeric(38, 0);
