-- What a person let pass with a release: the doubts that were shown, which an answer outweighs only if it is another one
-- (`doubts.ts`). Null: of a release before this column, then it is what the sources said last before it.
-- And how much of the sender's money was shown with it; more is asked about again. Null: not known.
alter table screenings add column accepted jsonb, add column shown_units numeric(38, 0);
-- The order whose pay page started a payer's check: its payer goes on there, another order's by mail. Null: of a check
-- before this column, then it is the first that waited for it.
-- And when the payer first opened the check through a mailed link, which proves the e-mail; null: not yet.
alter table kyc_records add column first_order_id text, add column mail_opened_at timestamptz(3);
-- Approvals are read again at their provider: those of an earlier version, too, spread over a day.
update kyc_records set next_check_at = now() + random() * interval '1 day'
where status = 'approved' and provider <> 'manual' and next_check_at is null;
-- What a provider wrote to a payer after the erasure.
update kyc_records set payer_message = null where email_sealed is null and payer_message is not null;
