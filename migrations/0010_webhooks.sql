-- What the webhook sender needs beside deliveries and delivery_due.

-- The n-th series of attempts of a delivery; a redelivery starts a new one under the same id.
alter table deliveries add column series integer not null default 1;
create index deliveries__order on deliveries (company_id, order_id);
create index deliveries__failed on deliveries (company_id, updated_at desc) where status in ('failed', 'parked');

alter table delivery_due add column leased_at timestamptz(3);
-- Due times in microseconds: two deliveries of one millisecond keep their order, and no rounding makes one early.
alter table delivery_due alter column next_at type timestamptz;
-- The next deliveries of one receiver, when its lane has a free place; and the list of lanes with work, by skipping.
create index delivery_due__lane on delivery_due (company_id, lane, next_at);

-- Attempts are kept in monthly partitions: old ones are dropped, never deleted row by row.
drop table delivery_attempts;
create table delivery_attempts (
  company_id text not null,
  delivery_id text not null,
  series integer not null,
  number smallint not null,
  -- an attempt whose outcome nobody knows (its node died) is logged with its own epoch and not counted
  epoch bigint not null,
  trigger text not null default 'schedule' check (trigger in ('schedule', 'manual')),
  started_at timestamptz(3) not null,
  duration_ms integer,
  status_code integer,
  error_code text,
  response_body text,
  primary key (company_id, delivery_id, series, number, epoch, started_at)
) partition by range (started_at);
-- Catches what no month fits (a clock far off, a stopped worker); the sender's upkeep moves it where it belongs.
create table delivery_attempts_default partition of delivery_attempts default;

-- The living senders. A node that stops renewing `seen_at` loses its leases to the others.
create table sender_nodes (
  name text primary key,
  instance text not null unique,
  host text not null,
  pid integer not null,
  started_at timestamptz not null default clock_timestamp(),
  seen_at timestamptz not null default clock_timestamp()
);
