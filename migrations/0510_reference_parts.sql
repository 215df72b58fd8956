-- References often come in series: INV-007654320 shares its trigrams with hundreds of thousands of others, and their lists
-- take long to intersect. Few references share six characters. A stored reference is cut into all of its parts (step 1);
-- of the typed text, some parts are enough.
--
-- ILIKE compares lower() of both sides, so parts of lower() miss nothing that it finds. The function calls nothing outside
-- pg_catalog, because indices are built and restored with an empty search_path. Its cost says that a call takes 6 µs. It is
-- not parallel safe, because a search takes less time than starting a parallel worker.
create function reference_parts(reference text, step integer) returns text[]
  language plpgsql immutable strict parallel restricted cost 1000 as $$
declare
  folded text := lower(reference);
  place integer := char_length(folded) - 5;
  parts text[] := '{}';
begin
  while place > 0 loop
    parts := parts || substr(folded, place, 6);
    place := place - step;
  end loop;
  return parts;
end $$;
