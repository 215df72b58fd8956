-- Where a deposit key begins that this database has not used yet: after a restore, beyond what lost orders may have used
-- of it. A database that an earlier version restored skipped a million indexes of the keys that it knew; of others, it
-- now skips as many, and `reconcile` looks at them.
alter table installation add column first_index bigint not null default 0;
update installation set first_index = 1000000,
  restored_facts = restored_facts || '{"newKeys": {"from": "0", "to": "1000000"}}'
where restored_at is not null;
