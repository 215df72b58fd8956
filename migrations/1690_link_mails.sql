-- How often an order's link was mailed to its payer, and when the payer is to be reminded; null: never, or it is done.
-- The address is the payer's e-mail, kept and erased with the payer information alone.
create table link_mails (
  company_id text not null,
  order_id text not null,
  sent integer not null check (sent > 0),
  lang text not null,
  remind_at timestamptz(3),
  primary key (company_id, order_id)
);
create index link_mails__remind on link_mails (remind_at) where remind_at is not null;
