-- Which life of a database this is: each restore begins another one, with a new mark. The backups of one life are not
-- those of another, though both may be put in the same folder. A database from before begins one now: whose the backups
-- of older versions are is not known.
alter table installation
  add column life text not null default left(replace(gen_random_uuid()::text, '-', ''), 12),
  add column life_since timestamptz(3) not null default now();
