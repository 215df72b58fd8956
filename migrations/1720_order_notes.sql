-- What staff write on an order for their colleagues. The text is sealed, because it may name the payer; a removed note
-- leaves no row. No reference to the order, as beside it: rows that go with it would lock it.
create table order_notes (
  company_id text not null,
  order_id text not null,
  id text not null,
  sealed text not null,
  author text not null,
  author_name text,
  created_at timestamptz(3) not null,
  primary key (company_id, order_id, id)
);
create index order_notes__age on order_notes (created_at);
