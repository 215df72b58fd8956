-- Resolved because its provider named another coin for the same sum. Such a record is no part of what has arrived, and
-- is opened again if its coin comes back.
alter table mispayments add column is_renamed boolean not null default false;
