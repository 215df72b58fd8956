-- Requests to the API of the last days, for the developer who looks for one by its id. Neither bodies nor query texts
-- nor credentials are kept. Rows go by age and by number for each company, so the table stays small.
create table request_log (
  company_id text not null default '',
  id text not null,
  request_id text not null,
  at timestamptz(3) not null,
  actor text not null,
  method text not null,
  path text not null,
  status integer not null,
  error_code text,
  duration_ms integer not null,
  ip text not null,
  user_agent text,
  primary key (company_id, id)
);
create index request_log_request_id on request_log (request_id);
create index request_log_at on request_log (at);
