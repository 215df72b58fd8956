-- A search for an amount also means the amount that arrived, where it is not the price. Only such orders are in the
-- index, which are few, so that a payment of exactly the price writes no entry.
create index orders__paid_amount on orders (paid_units, company_id, id) where paid_units > 0 and paid_units <> to_units;
