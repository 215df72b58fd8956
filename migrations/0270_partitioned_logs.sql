-- Recorded provider calls and the request log in daily partitions: what is too old is dropped with its day instead of
-- being deleted row by row. What was written until now stays one partition, attached as it is. Ids are random and begin
-- with their time; each partition has its own primary key on them, so nothing is built anew. An old node that runs
-- beside this keeps reading and writing under the same names.
do $$
declare
  boundary timestamptz := (date_trunc('day', now() at time zone 'UTC') + interval '1 day') at time zone 'UTC';
begin
  alter table channel_exchanges rename to channel_exchanges_before;
  alter index channel_exchanges__payment rename to channel_exchanges_before__payment;
  alter index channel_exchanges__age rename to channel_exchanges_before__age;
  create table channel_exchanges (like channel_exchanges_before including defaults) partition by range (at);
  create index channel_exchanges__payment on channel_exchanges (company_id, merchant_reference, at);
  create index channel_exchanges__age on channel_exchanges (at);
  create table channel_exchanges_default partition of channel_exchanges (primary key (company_id, id)) default;
  execute format('alter table channel_exchanges attach partition channel_exchanges_before for values from (minvalue) to (%L)',
    boundary);

  alter table request_log rename to request_log_before;
  alter index request_log_request_id rename to request_log_before_request_id;
  alter index request_log_at rename to request_log_before_at;
  create table request_log (like request_log_before including defaults) partition by range (at);
  create index request_log_request_id on request_log (request_id);
  create index request_log_at on request_log (at);
  create table request_log_default partition of request_log (primary key (company_id, id)) default;
  execute format('alter table request_log attach partition request_log_before for values from (minvalue) to (%L)', boundary);
end $$;
