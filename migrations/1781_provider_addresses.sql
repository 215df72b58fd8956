-- Addresses that a provider gave out for one payment: people search for them as for our own.
create index payments__provider_address on payments (lower(instructions ->> 'toAddress'))
  where deposit_address is null and instructions ->> 'toAddress' is not null;
