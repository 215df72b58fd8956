-- When the shift of a person at a till began, where the session replaced one that was still open: a PIN that was typed
-- again starts no new shift. Null: the shift began with the session, as with every session of an earlier version.
alter table sessions add column shift_started_at timestamptz(3);
