-- An order is also found by the reference of the session that it was made through, without knowing the company.
create index button_sessions__order_ref on button_sessions (order_ref);
