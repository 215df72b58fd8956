-- No order is given the address where a company is paid out: each fresh deposit address is compared with these.
create index companies__settlement_address on companies (lower(settlement_address)) where settlement_address is not null;
