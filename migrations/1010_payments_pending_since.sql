-- Since when the units that are on their way have been the same: their order waits for them no longer than thirty days.
-- Null: none were seen, or by an older node; counted from the next report.
alter table payments add column pending_at timestamptz(3);
