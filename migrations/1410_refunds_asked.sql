-- When a job first saw that a refund waits for the operator's approval, and that it waits for an address, so that the
-- operator's mail and the shop's are sent once. `by_hand_since` is the same of one to send by hand. Null: not seen yet.
-- What waited before these columns is seen by the next job and mailed once. A node of an earlier version mails the shop
-- about approvals.
alter table refunds add column approval_asked_at timestamptz(3), add column address_asked_at timestamptz(3);
create index refunds__waiting on refunds (company_id) where status in ('needs_approval', 'needs_address', 'ready', 'submitted');
