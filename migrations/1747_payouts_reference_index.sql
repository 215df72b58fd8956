-- Read at each payment by signature, among all payouts there ever were.
create index chain_payouts__reference on chain_payouts (reference) where reference is not null;
