-- Of a delivery that was interrupted twice: 0, a crash is its own; 1, others like it are under way beside it, so that a
-- crash proves nothing; 2, that happened, and it goes with no other beside it.
alter table delivery_due add column doubt smallint not null default 0;
