-- What an audit read as having left an address is kept only where it explains the balance. Until now an open difference
-- kept it, too, also from a node that was behind: it is read again from the beginning. Less than 0 is what an address
-- held before our records of it begin, which explained it once.
update deposit_differences set outflow_units = 0, outflow_to = 0 where closed_at is null and outflow_units >= 0;
