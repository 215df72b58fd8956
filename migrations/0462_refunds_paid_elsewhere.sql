-- Whether a person sent a refund another way than through its provider, which then knows nothing of it: not where the
-- person only confirmed what the provider had taken. Null: settled before, as settled_by_hand says.
alter table refunds add column paid_elsewhere boolean;
