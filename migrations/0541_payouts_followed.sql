-- A node without the chain's keys stopped asking about a payout that was under way: ask again. One that nothing was signed
-- for waits for the person who was told to send it.
update settlements set next_check_at = now() where status = 'approved' and next_check_at is null
  and exists (select from chain_payouts p where p.id = settlements.id and p.status <> 'failed' and p.valid_before is not null);
update refunds set next_check_at = now() where status = 'ready' and next_check_at is null
  and exists (select from chain_payouts p where p.id = refunds.id and p.status <> 'failed' and p.valid_before is not null);
