-- When its payment was abandoned: it is closed at its provider from then on. Null: never, or by an older node.
alter table payments add column abandoned_at timestamptz(3);
