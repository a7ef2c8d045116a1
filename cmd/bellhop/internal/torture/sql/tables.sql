-- The tables of the work: items of queries, rows that start workflows, rows that are attached, and the ledger of an app that takes jobs. Guard: none; the database is the torture's own.
create table public.torture_item (batch bigint, n bigint primary key);
create table public.torture_event (id bigint primary key, at timestamptz not null default now());
create table public.torture_row (n bigint primary key, ms integer not null, dispatch timestamptz, status text);
create table public.torture_ledger (n bigint);
