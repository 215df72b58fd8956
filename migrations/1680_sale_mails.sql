-- Who wants a mail for each sale, and up to which event the person has been told. Null `since`: no mail within the last
-- hour that counts. In the database, so that each sale is told once, whichever node tells it.
create table sale_mails (
  user_id text primary key references users (id) on delete cascade,
  position bigint not null,
  order_id text not null,
  seq integer not null,
  since timestamptz(3),
  told integer not null default 0 check (told >= 0)
);
