-- Payments that are to be closed at their provider: counted for a mail while an order and its payment are locked.
create index payments__closing on payments (company_id, channel)
  where status = 'closing' or (status in ('creating', 'awaiting', 'confirming') and abandoned_at is not null);
