-- The chains on which money at the address counts for the payment: those that its company named when the payment got
-- the address; empty: all of them. Null: placed by a node that does not know the column, which counts what the wallet
-- names at the time; the next poll by one that does stores the same.
alter table deposit_reservations add column networks integer[];

-- What came on a chain on which no order at its address was asked to be paid is announced once more: earlier versions may
-- neither have counted nor listed it. The lock keeps changes in order.
select from chain_heads order by chain_id for update;
update chain_transfers t set change = nextval('chain_changes')
from (
  select r.address, array_agg(distinct p.network) as networks from deposit_reservations r
  join payments p on p.company_id = r.company_id and p.merchant_reference = r.reference and p.network is not null
  group by r.address
) as asked
where t.to_address = asked.address and t.chain_id <> all(asked.networks) and t.status = 'seen';
