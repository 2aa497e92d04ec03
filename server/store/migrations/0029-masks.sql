-- SQL that is run in what a fork copies from its parent, before any client reaches it.
alter table services add column mask text;
