-- A search for digits is also one for an amount. Without an index it reads all orders of the company, and so does every
-- other part of that search, because it is one condition. The newest orders of an amount lie together at the end of its
-- range: a shop may sell one thing a million times.
--
-- Open orders are left out: creating an order then costs nothing, and its changes write one entry instead of four. There
-- are few, and orders__expiring lists them. Columns rather than expressions, so that a count needs the index alone.
create index orders__to_amount on orders (to_units, company_id, id) where status not in ('INITIAL', 'PENDING', 'AWAITING');
