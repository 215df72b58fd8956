-- What a person returned with a block of all of a payment is contained in the amount that was told then, and takes off
-- nothing else. `frozen_gone_units` says so from now on: what is frozen less what the told amount contains of frozen and
-- returned money, so less than 0 where more was returned than frozen. Up to now all was returned that is told at any time:
-- so is what is told now, for the last time.
update payments p
set pending_units = told.units, told_units = told.units, frozen_gone_units = told.frozen - told.units
from (
  select one.company_id, one.id, one.frozen, case when one.pending_units = one.told_units then one.pending_units
    else one.pending_units + greatest(one.frozen - coalesce(one.frozen_gone_units, 0), 0) end as units
  from (
    select w.company_id, w.id, w.pending_units, w.told_units, w.frozen_gone_units, coalesce((
      select sum(least(case m.asset when 'USDC' then m.units else div(m.units, 1e12) end, 1e30)) from mispayments m
      where m.company_id = w.company_id and m.order_id = w.order_id and m.payment_id = w.id and m.kind = 'wrong_token'
        and m.source_reference like '%:frozen:%' and m.asset in ('USDC', 'USDT') and (m.status in ('open', 'ignored', 'refunded')
          or (m.is_renamed and m.renamed_to not in ('USDC', 'USDT')))), 0) as frozen
    from payments w join screenings s on s.company_id = w.company_id and s.subject_id = w.id and s.purpose = 'payment'
    where s.status = 'returned' and s.address is null and s.is_whole is not false and w.pending_units > 0
  ) one
) told
where p.company_id = told.company_id and p.id = told.id
  and told.units > greatest(told.frozen - coalesce(p.frozen_gone_units, 0), 0);

-- Where nothing was ever told and a person returned the block, what is told from now on is other money. Each decision notes
-- that from now on.
update payments p set told_units = 0, pending_at = now()
from screenings s
where s.status = 'returned' and s.purpose = 'payment' and s.address is null and p.company_id = s.company_id
  and p.id = s.subject_id and p.pending_units = 0 and p.pending_at is null;

-- What is told of frozen or returned money is asked about until it is gone. The last version stopped once it was decided, and
-- its nodes would do so again while they still run: so it is asked about once they are gone.
update payments p set next_check_at = now() + interval '6 hours'
from screenings s
where s.purpose = 'payment' and s.address is null and p.company_id = s.company_id and p.id = s.subject_id
  and p.pending_units > 0 and p.next_check_at is null and p.status in ('closed', 'failed')
  and coalesce(p.abandoned_at, p.opened_at) > now() - interval '30 days';

-- What stays as it is, because in doubt money is on its way, until its provider tells that nothing is: what the last version
-- took for new money because it was frozen before any amount was told (nothing tells it from a second transfer of the same
-- amount), and what a person returns with a block of all on a node of the last version that still runs.
