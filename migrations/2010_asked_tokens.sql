-- Which contracts payers were asked for on a chain, looked up for each read of its logs: what comes of one that is no longer
-- in the settings still pays the orders that asked for it.
create index payments__asked_token on payments (network, token_address) where deposit_address is not null;
