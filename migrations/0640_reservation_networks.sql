-- The chains on which money at the address counts for the payment: those that its company named when the payment got
-- the address; empty: all of them.
alter table deposit_reservations add column networks integer[];

-- Earlier payments: the chain that they asked for, and others only where money that came on them has been counted.
update deposit_reservations r set networks = case
    when e.received_units > coalesce(e.own_units, 0) then e.others || e.network
    else array[e.network] end
from (
  select d.company_id, d.reference, p.network, p.received_units, came.own_units, came.others
  from deposit_reservations d
  join payments p on p.company_id = d.company_id and p.merchant_reference = d.reference and p.network is not null
  left join lateral (
    select sum(t.units) filter (where t.chain_id = p.network) as own_units,
      array_agg(distinct t.chain_id) filter (where t.chain_id <> p.network) as others
    from (
      select * from chain_transfers where to_address = d.address and d.units is null
        and block_at between d.from_at - interval '15 seconds' and least(d.until_at, (select min(n.from_at)
          from deposit_reservations n where n.address = d.address and n.from_at > d.from_at))
      union select * from chain_transfers where to_address = d.address and units = d.asked_units
        and block_at between d.from_at - interval '15 seconds' and least(d.until_at, (select min(n.from_at)
          from deposit_reservations n where n.address = d.address and n.asked_units = d.asked_units
            and n.from_at > d.from_at))
      union select * from chain_transfers where to_address = d.address and from_address = d.sender
        and block_at between d.from_at - interval '15 seconds' and least(d.until_at, (select min(n.from_at)
          from deposit_reservations n where n.address = d.address and n.sender = d.sender and n.from_at > d.from_at))
    ) as t
    where t.status = 'seen' and t.final_at is not null and t.symbol = 'USDC') as came on p.received_units > 0
) as e
where e.company_id = r.company_id and e.reference = r.reference;

-- For nodes that do not know the column yet; goes with the next contraction.
create function reservation_networks() returns trigger language plpgsql as $$
begin
  new.networks := array(select network from payments
    where company_id = new.company_id and merchant_reference = new.reference and network is not null);
  return new;
end $$;
create trigger reservation_networks before insert on deposit_reservations
  for each row when (new.networks is null)
  execute function reservation_networks();
