-- The references that 0511 leaves out, by their trigrams. Without pg_trgm a search reads all orders (see 0299); an operator
-- can create the index later:
--   create index concurrently orders__long_reference on orders using gin (alias gin_trgm_ops) where char_length(alias) > 20;
do $$
begin
  create index orders__long_reference on orders using gin (alias gin_trgm_ops) where char_length(alias) > 20;
exception
  when undefined_object then
    raise notice 'pg_trgm is not there: a search reads all orders of its company';
end $$;
