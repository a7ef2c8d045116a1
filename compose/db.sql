-- Run once, when the stack's database is made. In earnest, give the scheduler
-- no superuser, and everybody a password that is not in a file like this.

-- The scheduler's migration makes bellhop's roles, and takes those that are
-- there. An app needs this one, and nothing else of bellhop.
create role bellhop_submitter nologin;
create role shop login password 'play' in role bellhop_submitter;

-- Queries of jobs (--msq) run under a login that may only look.
create role queries login password 'play';

-- Tables that are attached are touched under a login that may do nothing else.
create role bellhop_attach login password 'play';

create schema shop authorization shop;
create table shop.orders (
  id     bigint generated always as identity primary key,
  what   text not null,
  total  numeric(10, 2) not null,
  at     timestamptz not null default now()
);
alter table shop.orders owner to shop;
grant usage on schema shop to queries;
grant select on shop.orders to queries;
