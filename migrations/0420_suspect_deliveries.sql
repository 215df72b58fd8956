-- Finds what was interrupted before, of which there is usually nothing.
create index delivery_due__crashed on delivery_due (next_at) where crashes > 0;
