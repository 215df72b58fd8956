-- What a person shows for money that went back outside the service. One file for a refund, never overwritten.
create table refund_proofs (
  company_id text not null,
  refund_id text not null,
  mime text not null check (mime in ('image/webp', 'application/pdf')),
  bytes bytea not null,
  -- of the bytes kept here: pictures are redrawn
  sha256 text not null check (sha256 ~ '^[0-9a-f]{64}$'),
  added_by text not null,
  added_at timestamptz not null,
  primary key (company_id, refund_id),
  foreign key (company_id, refund_id) references refunds (company_id, id)
);
