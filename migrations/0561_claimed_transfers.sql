-- One transaction may pay several refunds and settlements, as a Safe's batch does: it is claimed for each address that it
-- pays. Nodes of earlier versions read and write claimed_transactions, which keeps one claim of each transaction for them.
create table claimed_transfers (
  network integer not null,
  tx_hash text not null check (tx_hash ~ '^0x[0-9a-f]{64}$'),
  to_address text not null check (to_address = lower(to_address)),
  -- the refund or the settlement
  cause_id text not null,
  primary key (network, tx_hash, to_address)
);
create index claimed_transfers__cause on claimed_transfers (cause_id);

insert into claimed_transfers (network, tx_hash, to_address, cause_id)
select c.network, c.tx_hash, lower(r.address), c.cause_id from claimed_transactions c
  join refunds r on r.id = c.cause_id where r.address is not null
union all
select c.network, c.tx_hash, lower(s.address), c.cause_id from claimed_transactions c
  join settlements s on s.id = c.cause_id;
