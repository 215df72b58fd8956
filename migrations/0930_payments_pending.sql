-- Units that the last report saw but could not call final. An attempt that is over has no state that says so.
alter table payments add column pending_units numeric(38, 0) not null default 0;
