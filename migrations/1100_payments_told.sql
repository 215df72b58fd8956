-- What the last report said is on its way, as it was told: what its provider froze of that is taken off when it is read.
-- Equal to `pending_units` where this version wrote both. Otherwise, or null, an older node wrote `pending_units` last,
-- and has taken off already what was frozen.
alter table payments add column told_units numeric(38, 0);
