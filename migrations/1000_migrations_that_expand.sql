-- Whether a migration only adds, so that a version from before it keeps working. Null: applied before this was noted.
alter table migrations add column expands boolean;
