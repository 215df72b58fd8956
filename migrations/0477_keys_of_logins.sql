-- Whether the key is a person's login of a command line: it ends with the person's access. Older ones are told apart by
-- the audit log, because logins are forgotten after their ten minutes.
alter table api_keys add column of_login boolean not null default false;
update api_keys set of_login = true where revoked_at is null and 'apiKey:' || id in (
  select object from audit_log where action = 'api-key.create' and detail like '%"device":true%');
