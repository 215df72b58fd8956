-- The coin that older versions renamed a record to, where it can be told: they renamed it in the transaction that made the
-- record in the other coin, or opened that again. What came back in its own coin after that took in the others of it. The
-- rest is told from what was there, once its provider names the sum again (`one-sum.ts`).
update mispayments m
set renamed_to = coalesce(
  (select o.asset from mispayments o
    where o.company_id = m.company_id and o.payment_id = m.payment_id and o.kind = m.kind and o.asset = m.asset
      and regexp_replace(o.source_reference, '\.\d+$', '') = regexp_replace(m.source_reference, '\.\d+$', '')
      and o.created_at <= m.updated_at and o.updated_at > m.updated_at limit 1),
  (select o.asset from mispayments o
    where o.company_id = m.company_id and o.payment_id = m.payment_id and o.kind = m.kind and o.asset <> m.asset
      and regexp_replace(o.source_reference, '\.\d+$', '') = regexp_replace(m.source_reference, '\.\d+$', '')
      and (o.created_at = m.updated_at or (o.updated_at = m.updated_at and not o.is_renamed))
    order by o.created_at = m.updated_at desc, o.id limit 1))
where m.is_renamed and m.renamed_to is null;
