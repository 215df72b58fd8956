-- The payer's e-mail is part of the payer information; a second copy beside the payment had to be erased and sealed twice.
alter table payments drop column payer_email_sealed;
