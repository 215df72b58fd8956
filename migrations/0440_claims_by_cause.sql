-- Before a refund is dropped: is a person naming the transaction that paid it?
create index claimed_transactions__cause on claimed_transactions (cause_id);
