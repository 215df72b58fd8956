-- A sweep that was given up is followed again once its transfer is in a block, also while the next one of its address is
-- under way: only one that was never reopened excludes another.
alter table sweeps add column reopened boolean not null default false;
create unique index sweeps__one_first on sweeps (chain_id, address)
  where status = 'sending' and undone = 0 and not reopened;
drop index sweeps__one_new;
