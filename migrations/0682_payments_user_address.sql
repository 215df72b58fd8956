create index payments__user_address on payments (opened_at) where user_address is not null;
