-- A proof file may show the payer and goes with the payer information. Its facts and its hash stay, so that a copy kept
-- elsewhere can be recognised. Erased: the bytes are empty, and the size is what it was.
alter table refund_proofs add column size integer, add column erased_at timestamptz;
