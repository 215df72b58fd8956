-- Those few are looked for every minute, among all payouts there ever were.
create index chain_payouts__reopened on chain_payouts (chain_id, updated_at)
  where reopened_at is not null and status not in ('final', 'failed');
