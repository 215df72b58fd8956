-- A session sells one thing, but may have several orders: an expired one can be reopened, or paid late, after the next
-- was made. Before a session sells again, all of its orders are read. Orders without a session write no entry.
create index orders__button_session on orders (company_id, button_session_id) where button_session_id is not null;
