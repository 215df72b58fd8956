-- Whether a token is what any payment at its address was asked in: a static address has thousands of payments. It also
-- serves what finds payments by their address alone.
create index payments__deposit_token on payments (deposit_address, network, token_address)
  where deposit_address is not null;
drop index payments__deposit_address;
