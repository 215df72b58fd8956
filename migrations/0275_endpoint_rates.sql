-- Calls that a node answers in a second, learned from its refusals. Null: no limit was met.
alter table chain_endpoints add column calls_per_second integer check (calls_per_second > 0);
