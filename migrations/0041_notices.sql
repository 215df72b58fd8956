-- What was told once and must not be told again, however often the job runs.
create table notices_sent (
  key text primary key,
  sent_at timestamptz(3) not null default now()
);
