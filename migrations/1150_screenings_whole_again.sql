-- A block of all of a payment stays one until a person decides. The last version narrowed it to the amounts that were
-- named after it: where nobody has decided yet, it is about all again, and not by what a person was shown before.
update screenings s set is_whole = true, updated_at = greatest(now(), s.updated_at + interval '1 millisecond')
where s.status = 'blocked' and s.is_whole = false and s.purpose = 'payment' and s.address is null
  and exists (select from screening_answers a where a.company_id = s.company_id and a.screening_id = s.id
    and a.at >= s.opened_at and a.source = 'provider' and a.evidence ->> 'isWhole' = 'true');
