-- When a job first saw that a person has to send a refund, so that its mail is sent once, also if a check holds the refund
-- at the hour of the mail. Null: not seen yet. What waited before this column is seen by the next job and mailed once more.
-- A node of an earlier version mails by `handed_over_at`.
alter table refunds add column by_hand_since timestamptz(3);
create index refunds__by_hand on refunds (by_hand_since) where status = 'ready' and handed_over_at is not null;
