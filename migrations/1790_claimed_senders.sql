-- Anyone can type anyone's address as the sender of an order, so it no longer makes money of another amount pay that
-- order. What it made pay before this upgrade stays paid: until then, the sender counts. Null: a claim, for a person
-- who decides. The default fills the rows there are without writing them.
alter table deposit_reservations add column sender_until timestamptz(3) default now();
alter table deposit_reservations alter column sender_until drop default;
