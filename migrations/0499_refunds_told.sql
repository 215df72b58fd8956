-- What a provider said was refunded of a payment while a refund of ours was under way: looked at when ours is dropped.
alter table payments add column refunds_told_units numeric(38, 0);
