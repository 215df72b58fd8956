-- What the operator tells everybody who works in the back office: an outage, a planned pause, a new rule.
create table announcements (
  id text primary key,
  text text not null check (length(text) between 1 and 500),
  tone text not null check (tone in ('info', 'warn')),
  created_by text not null,
  created_at timestamptz(3) not null,
  ends_at timestamptz(3)
);
