-- An order that moved to the check of another payer left the e-mail of the first one behind, where no erasure found it.
update kyc_records k set email_sealed = null, payer_message = null
where email_sealed is not null
  and not exists (select 1 from kyc_orders o where o.company_id = k.company_id and o.kyc_id = k.id);
