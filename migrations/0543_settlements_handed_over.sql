-- Since when a person is asked to send a settlement: from then on the service does not, also once it has the keys.
alter table settlements add column handed_over_at timestamptz(3);
