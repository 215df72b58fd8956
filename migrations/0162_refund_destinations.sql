-- Who wrote the wallet address that was given at accept: a person of the shop proposes, the payer and the shop's server
-- speak for the payer. What cannot be told from the order's history counts as a proposal.
alter table payments add column user_address_by text;
update payments p set user_address_by = e.actor
from (
  select company_id, order_id, max(actor) as actor from order_events
  where trigger = 'accept' group by company_id, order_id having bool_and(actor not like 'user:%')
) e
where p.user_address is not null and e.company_id = p.company_id and e.order_id = p.order_id;

-- Who proposed the destination of a refund: another person's word is needed for it.
alter table refunds add column proposed_by text;
