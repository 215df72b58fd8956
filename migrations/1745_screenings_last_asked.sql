-- When each source was last asked about an address: an answer that only repeats the one before is no row of its own. Null: an
-- older node asked.
alter table screenings add column last_asked jsonb;
