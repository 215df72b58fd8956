-- Of what its provider froze of a payment, what is not contained in the amount that it last told to be on its way: that
-- is gone, and takes nothing off. Null: this version has not been told another amount yet, so all that is frozen is
-- contained in it.
alter table payments add column frozen_gone_units numeric(38, 0);
