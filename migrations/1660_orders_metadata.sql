-- What the shop wrote beside the order, for itself: names and texts, in the order in which it sent them. Null: nothing, or
-- an order made by an older node.
alter table orders add column metadata json;
