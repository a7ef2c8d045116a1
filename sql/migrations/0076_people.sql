-- Works from: 0051
-- Locks: ACCESS EXCLUSIVE on bellhop.sign_in, for a moment; it has few rows.
-- Sessions of people that an OpenID Connect provider has identified (../functions/sign_in.sql).
alter table bellhop.sign_in
  add column role    text,          -- of a person's requests, by its groups; NULL: that of the login
  add column attempt bytea unique;  -- of the state of the sign-in, a digest: each makes one session
