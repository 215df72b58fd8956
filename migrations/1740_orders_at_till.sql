-- Whether a person made the order at a till, signed in with a PIN there; null: no person did, or a node of before this.
alter table orders add column at_till boolean;
