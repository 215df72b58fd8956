-- A refused enhanced check keeps its outcome and its limit while the next one is open: whoever asks again grants nothing.
alter table kyc_records
  drop constraint kyc_records_check,
  drop constraint kyc_records_check1,
  add constraint kyc_records__edd_outcome
    check (case edd_status when 'completed' then edd_outcome is not null else edd_outcome is distinct from 'approved' end),
  add constraint kyc_records__spending_limit check ((edd_outcome is null) = (spending_limit_amount is null));
