-- An address has a domain with a dot, as clients expect; the first user's had none.
update users set email = 'admin@howdah.local'
where lower(email) = 'admin@localhost' and not exists (select from users where lower(email) = 'admin@howdah.local');
