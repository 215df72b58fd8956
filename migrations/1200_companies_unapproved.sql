-- Those that wait for the operator are counted on every look at the home page; most companies are approved.
create index companies__unapproved on companies (id) where not approved;
