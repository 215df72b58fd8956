-- When the payer asked on the order's page for this money. Null: not asked. A decision about the money answers it.
alter table mispayments add column asked_back_at timestamptz;
