-- When an event named money that the provider's own total may contain, if that provider has not told its total since:
-- until it does, nobody decides about money of the payment. Null: no such event, or taken by an older node.
alter table payments add column unanswered_event_at timestamptz;
