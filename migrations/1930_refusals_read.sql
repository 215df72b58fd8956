-- Refusals of before are read at their provider, too: it may take one back without a callback. Spread over a day, so that
-- they do not come at once, and not before a day has passed: a node of the earlier version, which stops reading what it
-- finds refused, has ended by then.
update kyc_records set next_check_at = now() + interval '1 day' + (hashtext(id) & 65535) * interval '1 day' / 65536
where status = 'refused' and provider <> 'manual' and applicant_id is not null and next_check_at is null;
