-- Whether a person recorded how much was refunded in the provider's console, because the provider does not say.
alter table refunds add column recorded boolean not null default false;
