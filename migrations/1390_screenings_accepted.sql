-- What a person let pass with a release: the doubts that were shown, which an answer outweighs only if it is another one
-- (`doubts.ts`). Null: of a release before this column, then it is what the sources said last before it.
-- And how much of the sender's money was shown with it; more is asked about again. Null: not known.
alter table screenings add column accepted jsonb, add column shown_units numeric(38, 0);
