-- The address that was entered through a link that anyone may hold. Unlike proposed_by it stays when a person of the
-- shop confirms the address, so the payer is not asked again.
alter table refunds add column payer_address text;
