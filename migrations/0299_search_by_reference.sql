-- Finding a part of a reference among millions of orders. Where the extension may not be made (a database whose owner
-- is another role, a server without it), searching stays as slow as it was; an operator may make both later:
--   create extension pg_trgm;
--   create index concurrently orders__reference on orders using gin (alias gin_trgm_ops) where alias is not null;
do $$
begin
  create extension if not exists pg_trgm;
  create index orders__reference on orders using gin (alias gin_trgm_ops) where alias is not null;
exception
  when insufficient_privilege or undefined_file or feature_not_supported or undefined_object then
    raise notice 'pg_trgm cannot be used here: a search reads all orders of its company';
end $$;
