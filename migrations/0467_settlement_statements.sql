-- What a settlement covers: its company's bookings before covers_before, and of those after it the ones that its
-- transaction saw (covers_last). A booking that was under way at that moment belongs to the next settlement. The units
-- say how its amount came about. Null: made before this was recorded, or by a node that does not record it yet.
alter table settlements
  add column covers_before text,
  add column covers_last text[],
  add column owed_units numeric(38, 0),
  add column own_units numeric(38, 0),
  add column undecided_units numeric(38, 0),
  add column kept_units numeric(38, 0);
