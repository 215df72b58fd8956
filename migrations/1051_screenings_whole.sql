-- Whether a provider blocks all of the payment, or only amounts that it names. A person who returns the first returns
-- all that is on its way. Of a returned screening: what it was about. Null: an address, or noted by an older node, which
-- counts as all: what a person returned stays returned. `payments.blocked_at` is for older nodes only from now on.
alter table screenings add column is_whole boolean;

-- as the last version would have read it: a block noted before that one, beside an amount, was about the amount
update screenings s
set is_whole = coalesce(p.blocked_at is not null and (s.status <> 'returned' or s.updated_at >= p.blocked_at), false)
  or not exists (select from mispayments m where m.company_id = p.company_id and m.payment_id = p.id
    and m.source_reference like '%:frozen:%' and m.units > 0)
from payments p
where s.purpose = 'payment' and s.address is null and p.company_id = s.company_id and p.id = s.subject_id;
