-- Tells a company's account at a provider from another one where no setting names it (the values of others do). Null: of
-- an earlier version, whose payments say nothing either; the next save sets it.
alter table channel_accounts add column account_mark text;
