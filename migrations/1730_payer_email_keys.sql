-- A keyed hash of the payer's e-mail, by which orders are found; null: no e-mail. `keyed_for` is the nonce of the sealed
-- text that was keyed: unlike `updated_at` it changes with every text, so a key that an older node left beside a new text
-- is not believed, whatever the clocks say.
alter table payer_information add column email_key text, add column keyed_for text;
