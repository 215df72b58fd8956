-- Of `returns_gone_units`, what a person had ignored and what was released from suspense once the price was paid: it may
-- be a refund of the price instead, so a later return is judged with it.
alter table payments add column returns_ignored_units numeric(38, 0) not null default 0;
