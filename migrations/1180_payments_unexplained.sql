-- The most that is on its way to a payment since nothing was, and what of all that came on its way is explained by nothing:
-- neither received nor recorded. Both since a person was last told what its provider blocks, or returned it. A block of all
-- may be about that (`on-its-way.ts`). Null: not since these columns, and what is on its way then is not explained. So what
-- an older node was told after a return, and what was gone again before this version's first answer, is not noticed. A
-- return on a node of the last version that still runs leaves both as they are: in doubt a person decides once more.
alter table payments add column pending_peak_units numeric(38, 0), add column unexplained_units numeric(38, 0);
