-- Of other money that was on its way to a payment after a person returned it, a mail tells the operator once polling stops
-- (`way-queries.ts`). What had arrived by the return, or was on its way before it arrived since: what arrives beyond that
-- may be the money that nothing explains. Null: not returned since this column, and then nothing is taken off what is told.
-- And how much such a mail has told of, which falls with no report. An older node that still runs changes neither: at most
-- one more mail tells of what is known. Of what an older version told, one more does, too, if a report still comes.
-- And how much a person knows to have been on its way (`on-its-way.ts`), which stays once nothing is: so cents that go
-- again are no news of what he knows. Null: not since this column, then it is what the older columns say.
alter table payments add column known_way_units numeric(38, 0),
  add column known_arrived_units numeric(38, 0), add column told_other_units numeric(38, 0);
