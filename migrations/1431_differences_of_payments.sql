-- What a provider said of a payment that did not pay its order had the order's name once, and has one of its own since:
-- what was explained was found again, and what was open ended with no answer. Where only one payment fits, and is not the
-- one that paid, the difference gets the name of today; if it was found again under that, it is gone. Others keep their
-- name: they may be about the payment that paid.
with old as (
  select company_id, id, substr(subject, 7) as code, substr(what, 9) as channel from ledger_differences
  where source = 'providers' and status in ('open', 'explained') and what like 'word of %' and subject like 'order %'
    and position(',' in subject) = 0
), fitting as (
  select old.company_id, old.id, min(p.id) as payment_id
  from old join orders o on o.company_id = old.company_id and o.code = old.code
    join payments p on p.company_id = o.company_id and p.order_id = o.id and p.channel = old.channel
  group by old.company_id, old.id
  having count(*) = 1 and not bool_or(o.paid_at is not null and o.payment_id is not distinct from p.id)
)
update ledger_differences d set subject = d.subject || ', state of payment ' || f.payment_id,
  status = case when d.status = 'open' and exists (
    select 1 from ledger_differences x where x.company_id = d.company_id and x.source = d.source and x.what = d.what
      and x.subject = d.subject || ', state of payment ' || f.payment_id and x.status = 'open') then 'gone' else d.status end
from fitting f where d.company_id = f.company_id and d.id = f.id;
