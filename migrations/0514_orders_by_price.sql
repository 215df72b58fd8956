-- The price, as 0513. The currency belongs to it: a search for 4990 also means 4990 XPF, and not the orders at 49.90 EUR.
create index orders__from_amount on orders (from_units, from_asset, company_id, id)
  where status not in ('INITIAL', 'PENDING', 'AWAITING');
