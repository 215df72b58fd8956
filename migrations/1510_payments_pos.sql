-- The till's own number, as the shop said it at accept. It shows in the order's story. Null: not said, or by an older node.
alter table payments add column pos text;
