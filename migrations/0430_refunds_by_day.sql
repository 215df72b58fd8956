-- Finds a company's refunds of the last days: the summary counts each on the day on which it was settled.
create index refunds__settled on refunds (company_id, settled_at) where settled_at is not null;
