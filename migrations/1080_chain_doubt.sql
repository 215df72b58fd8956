-- A chain may also stand still because what its nodes say does not fit together, though none contradicts another.
alter table chain_heads drop constraint chain_heads_trouble_check;
alter table chain_heads
  add constraint chain_heads_trouble_check check (trouble in ('foreign', 'disagreement', 'doubt'));
