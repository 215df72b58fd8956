-- A change of role takes the tills away; until now it left them, for whenever the role came back.
delete from collector_cashiers c using users u where u.id = c.user_id and u.role <> 'Cashier';
