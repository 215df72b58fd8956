-- Who of the staff wrote the only e-mail at which the payer is asked for the destination, 'user:<id>'; null: the payer, the
-- shop's server, nobody, or not known.
alter table refunds add column email_by text;
