-- How much each role may refund by itself, and who wants the money where it goes.

-- role → {single, day}: USDC as decimal text, null for none; a role that is missing has no limit
alter table companies add column refund_limits jsonb not null default '{}';

alter table refunds
  -- its place among the refunds of its order, from 1: what a payer signs names it
  add column number integer,
  -- who has to say yes first: 'company' (its setting), 'limit' (more than the role may by itself); null: nobody
  add column approval text check (approval in ('company', 'limit')),
  add column requested_role text,
  -- named by the merchant, not by the payer: nothing goes there before there is a proof
  add column proposed_address text,
  add column asked_by_mail boolean not null default false,
  -- {kind, by, at, …}: why the destination is believed
  add column address_proof jsonb;

update refunds set number = numbered.number
from (
  select company_id, id, row_number() over (partition by company_id, order_id order by created_at, id) as number from refunds
) as numbered
where numbered.company_id = refunds.company_id and numbered.id = refunds.id;
update refunds set requested_role = 'Service' where requested_by like 'apiKey:%';
update refunds set approval = 'company' where status = 'needs_approval';

alter table refunds alter column number set not null;
create unique index refunds__number on refunds (company_id, order_id, number);
create index refunds__spent on refunds (company_id, created_at);

-- Held while somebody's refunds of a day are added up, so that two at once do not both fit below the limit.
create table refund_day_locks (
  company_id text not null,
  spender text not null,
  primary key (company_id, spender)
);
