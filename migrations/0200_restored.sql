-- A database that was restored from a backup: from when it is, and what `comptoir reconcile` needs to know about that
-- moment. Until it ran, no refund and no settlement leaves.
alter table installation
  add column backup_made_at timestamptz(3),
  add column restored_at timestamptz(3),
  add column restored_facts jsonb,
  add column reconciled_at timestamptz(3);
