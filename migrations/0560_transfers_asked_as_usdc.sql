-- A transfer counts as USDC by its symbol, as it was recorded. Where CHAIN_<id>_USDC names a token that Comptoir knows by
-- another name (USDC.e), earlier versions recorded that name, although payers were asked for this token.
update chain_transfers set symbol = 'USDC'
where symbol <> 'USDC' and (chain_id, token) in (
  select t.chain_id, t.token from chain_transfers t join payments p on p.deposit_address = t.to_address
  where t.symbol <> 'USDC' and p.network = t.chain_id and lower(p.instructions ->> 'tokenAddress') = t.token);
