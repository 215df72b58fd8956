-- The most that was received, recorded or on its way at one time, since a person was last told what its provider blocks or
-- returned it. What is more than is received or recorded now was on its way and is gone: a block of all may be about that.
-- Null: not since this column, as 0. So what an older node was told after a return, and what was gone again before this
-- version's first answer, is not noticed; what is still on its way is. A return on a node of the last version that still
-- runs leaves the figure as it is: in doubt a person decides once more.
alter table payments add column known_units numeric(38, 0);
