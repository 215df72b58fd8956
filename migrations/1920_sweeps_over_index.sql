-- Sweeps that are over are rechecked every hour for two days.
create index chain_payouts__sweeps_over on chain_payouts (chain_id, updated_at)
  where kind = 'sweep' and status in ('final', 'failed');
