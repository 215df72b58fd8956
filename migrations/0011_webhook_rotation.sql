-- The next signing secret, while the merchant prepares his receiver for it.
alter table companies add column next_webhook_secret_sealed text;
