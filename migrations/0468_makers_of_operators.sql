-- Who registered an operator's account, or gave an account the role SuperAdmin: where two persons have to approve, both
-- accounts are one person's. Null: made on the machine itself, or before this was recorded.
alter table users add column made_by text;
