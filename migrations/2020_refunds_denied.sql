-- When a person rejected a refund whose answer was lost, having looked it up: its provider never had it. Null: nobody has, or
-- on a node of an earlier version; after a restore the next refund of the payment is then looked up once more.
alter table refunds add column denied_at timestamptz(3);
