-- Indexes for the lists of companies, buttons and sessions.
create index companies__name on companies (lower(name));
create index button_sessions__company on button_sessions (company_id, id desc);
create index button_sessions__button on button_sessions (button_id) where ended_at is null;
