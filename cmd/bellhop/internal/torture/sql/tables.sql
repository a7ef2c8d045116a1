-- The tables of the work: items of queries, and rows that start workflows. Guard: none; the database is the torture's own.
create table public.torture_item (batch bigint, n bigint primary key);
create table public.torture_event (id bigint primary key, at timestamptz not null default now());
