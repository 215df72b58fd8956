-- One transaction may pay settlements to several addresses.
create unique index settlements__tx_address on settlements (network, tx_hash, lower(address)) where tx_hash is not null;
drop index settlements__tx;
