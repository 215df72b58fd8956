-- An account that ended because an invitation took its address stays disabled. Earlier versions let its company enable it
-- again, and then mailed what its managers are told to whoever has the address now.
update users set disabled_at = now(), updated_at = now()
where email_key = 'replaced:' || id and disabled_at is null;
