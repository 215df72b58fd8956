-- Where the webhooks of a till's orders go that name no address themselves. Null: nowhere, or made by an older node.
alter table collectors add column webhook_url text check (length(webhook_url) between 1 and 2048);
