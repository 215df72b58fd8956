-- Whether this database is a copy that was restored for a rehearsal: a service on it sends nothing and changes nothing
-- outside. It is in the database, so that no later start can forget it.
alter table installation add column rehearsal boolean not null default false;
