-- The coin that a renamed record's money is named in now. In a coin of the same value (USDC, USDT) the money moved there
-- and the record stands for nothing any more; in another one it still says how much of its own coin the sum came to.
-- Null: renamed by an older version, or by a node of it. Such a record stands for its coin only if the sum has no other
-- record of that value: too much may wait for a person then, never too little.
alter table mispayments add column renamed_to text;
