-- The trigrams of a reference that is one of a series, INV-007654320, are those of hundreds of thousands of others, and
-- their lists take long to intersect. Few references have six characters in common. A stored reference is cut into all of
-- its parts (step 1); of what is typed, some are enough.
--
-- ILIKE compares lower() of both sides, so that parts of lower() miss nothing that it finds. Nothing but pg_catalog is
-- called: indices are built and restored with an empty search_path. A call takes 6 µs, which is what its cost says. A
-- search by it takes less time than the start of a parallel worker.
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
