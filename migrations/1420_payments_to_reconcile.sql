-- Payments that their providers are asked about once a day: also those whose money a person decided about, which are closed.
create index payments__to_reconcile on payments (coalesce(reconciled_at, opened_at))
  where channel <> 'crypto' and (status = 'paid' or (status in ('closed', 'failed') and received_units > 0));
drop index payments__unreconciled;
