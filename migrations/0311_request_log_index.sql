-- Nothing reads the request log by time: its days are partitions, and a list goes by id. Each answer paid for the
-- entry. Never waiting while holding a lock: running nodes may take them in another order.
do $$
begin
  loop
    begin
      set local lock_timeout = '150ms';
      drop index request_log_at;
      exit;
    exception when lock_not_available then
      perform pg_sleep(0.05 + random() * 0.1);
    end;
  end loop;
  set local lock_timeout = 0;
end $$;
