-- Next to the newest migration: the unique indices, foreign keys and triggers that there were after it. A load of a dump
-- that ended early lacks some, and everything else looks right. Dumps hold it with the data.
alter table migrations add column parts jsonb;
