-- When a node of the service last began to look at the chain, whether its nodes answered or not: a chain that the service
-- still tries to read is not gone for good. Null: not since this column.
alter table chain_heads add column tried_at timestamptz(3);
