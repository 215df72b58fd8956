-- Each part is an entry of its own. Long references are rarely in a series and would need dozens, so they are left out.
-- Each search reads the whole pending list, so it is kept short: at the default 4 MB that would take 12 ms.
create index orders__reference_parts on orders using gin (reference_parts(alias, 1) collate "C")
  with (gin_pending_list_limit = 256) where char_length(alias) <= 20;
