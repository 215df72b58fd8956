-- Counters of the last minute, shared by all nodes; unlogged, because losing them in a crash costs one minute of limits.
create unlogged table rate_counters (
  key text primary key,
  used bigint not null,
  window_ends_at timestamptz(3) not null
);
create index rate_counters__age on rate_counters (window_ends_at);
