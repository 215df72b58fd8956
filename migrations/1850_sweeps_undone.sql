-- How often a reorganisation undid it after it was final: each booking of it is reversed, and it is booked again if it
-- comes home after all.
alter table sweeps add column undone integer not null default 0;

-- One that was undone is under way again, also while a later sweep moves what came to its address since.
create unique index sweeps__one_new on sweeps (chain_id, address) where status = 'sending' and undone = 0;
drop index sweeps__one_open;
