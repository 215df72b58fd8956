-- Since when the units that are on their way have been the same: their order waits for them no longer than thirty days.
-- Null: none were seen, or by an older node; counted from the next report.
alter table payments add column pending_at timestamptz(3);
-- Since when its provider has blocked all of the payment, without an amount; a decision of a person after that returns all
-- that is on its way. Null: it named the amounts that it froze, or blocked nothing, or an older node noted the block.
alter table payments add column blocked_at timestamptz(3);
