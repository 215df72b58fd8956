-- Buy buttons in other websites.

-- whether the page that shows the button may name another price: anyone can change an address, so it is off by default
alter table buy_buttons add column page_price boolean not null default false;
-- each request of a browser at another website asks whether that website has a button
create index buy_buttons__origin on buy_buttons (website_origin) where deleted_at is null;
