-- When the record last grew: from then on its money waits for a person again. Null: not since it was made.
alter table mispayments add column grown_at timestamptz(3);
