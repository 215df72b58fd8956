-- Refusals of before are read at their provider, too: it may take one back without a callback. Spread over a day, so that
-- they do not come at once, and not before a day has passed: a node of the earlier version, which stops reading what it
-- finds refused, has ended by then. Refusals by hand stand until their payer comes back: nobody at the provider made them.
update kyc_records set next_check_at = now() + interval '1 day' + (hashtext(id) & 65535) * interval '1 day' / 65536
where status = 'refused' and provider <> 'manual' and applicant_id is not null and next_check_at is null
  and not exists (select from kyc_history h where h.company_id = kyc_records.company_id and h.kyc_id = kyc_records.id
    and h.seq = kyc_records.version and h.trigger = 'refuse');
