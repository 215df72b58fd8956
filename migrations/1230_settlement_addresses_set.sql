-- Who wrote a company's payout address last, and when; a settlement keeps what held when it was made. Null: an earlier version wrote
-- it, and its audit log does not say who. An entry about the network alone repeats the address that was there.
alter table companies add column settlement_set_at timestamptz, add column settlement_set_by text;
alter table settlements add column address_set_at timestamptz, add column address_set_by text;

update companies c set settlement_set_at = l.at, settlement_set_by = l.actor
from (
  select distinct on (company_id) company_id, at, actor from (
    select company_id, seq, at, actor, is_given, address, lag(address) over (partition by company_id order by seq) as before
    from (
      select company_id, seq, at, actor, lower(detail::jsonb ->> 'settlementAddress') as address,
        detail::jsonb -> 'fields' ? 'settlementAddress' as is_given
      from audit_log
      where action = 'company.change' and result = 'ok' and detail like '%"settlement":true%') e) e
  where is_given and address is distinct from before
  order by company_id, seq desc) l
where c.id = l.company_id;

update settlements s set address_set_at = c.settlement_set_at, address_set_by = c.settlement_set_by
from companies c
where c.id = s.company_id and s.status in ('open', 'approved') and c.settlement_set_at <= s.created_at;
