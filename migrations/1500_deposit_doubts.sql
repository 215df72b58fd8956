-- A deposit address of which an endpoint that did not answer may know more: what the others say does not settle it. Its
-- order does not expire before it is compared again. In the database, because any node may make the next comparison.
create table deposit_doubts (
  chain_id integer not null,
  address text not null,
  since timestamptz(3) not null default now(),
  primary key (chain_id, address)
);
