-- What left under a settlement's own authorization before a restore, where it is not what was asked. `left_units` null:
-- the amount asked; `left_to` null: the address asked, or nothing left.
alter table settlements add column left_units numeric(38, 0) check (left_units >= 0), add column left_to text;
