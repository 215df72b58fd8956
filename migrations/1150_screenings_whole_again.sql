-- A block of all of a payment stays one until a person decides: the last version narrowed it to the amounts that were named
-- after it. And only a word that names nothing is about all: the last version took a sum whose amount it could not read for
-- all. So where nobody has decided yet, the block is about all where Gate, the only provider that blocks payments, said such
-- a word, and about the amounts where it did not; and no decision is about what a person was shown before. Both are rules of
-- nodes of this version: one of the last version that still runs may narrow a block of all again.
update screenings s set is_whole = said.is_whole, updated_at = greatest(now(), s.updated_at + interval '1 millisecond')
from (
  select one.company_id, one.id, exists (select from screening_answers a
    where a.company_id = one.company_id and a.screening_id = one.id and a.at >= one.opened_at and a.source = 'provider'
      and a.reasons[1] in ('PAY_BLOCK', 'TRANSFERRED_ADDRESS_BLOCK')) as is_whole
  from screenings one
  where one.status = 'blocked' and one.purpose = 'payment' and one.address is null and one.is_whole is not null
) said
where s.company_id = said.company_id and s.id = said.id and s.is_whole <> said.is_whole;
