-- Read at each payment of an order with an alias: which others of it were paid, or are held, since. A till may use the
-- same alias all day.
create index orders__alias_decided on orders (company_id, alias, updated_at)
  where alias is not null and (paid_at is not null or status in ('WAITING_CHAIN_CONFIRMATION', 'KYT_FAILED'));
