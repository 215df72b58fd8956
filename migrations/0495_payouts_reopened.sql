-- When a reorganisation undid a payout that was final: no refund or settlement asks for it any more.
alter table chain_payouts add column reopened_at timestamptz(3);
