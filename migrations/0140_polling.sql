-- What is asked again carries a lease of its own beside the time of its next check: whoever polls it holds the lease,
-- and the epoch tells a poll whose lease ended from the one that took over. poll_again: it was woken meanwhile.
alter table payments
  add column lease_until timestamptz(3),
  add column lease_epoch bigint not null default 0,
  add column poll_again boolean not null default false;
alter table refunds
  add column lease_until timestamptz(3),
  add column lease_epoch bigint not null default 0,
  add column poll_again boolean not null default false;
alter table settlements
  add column lease_until timestamptz(3),
  add column lease_epoch bigint not null default 0,
  add column poll_again boolean not null default false;
alter table kyc_records
  add column lease_until timestamptz(3),
  add column lease_epoch bigint not null default 0,
  add column poll_again boolean not null default false;
