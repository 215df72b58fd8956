-- When the payer's e-mail was last saved: after an erasure it is saved again when the payer comes back, which does not
-- change the check. Null: before this column, or by an older node; then updated_at alone counts.
alter table kyc_records add column email_saved_at timestamptz(3);
