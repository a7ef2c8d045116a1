-- An order and its invoice, in one transaction: the invoice is made if, and
-- only if, the order is there.
--
--   psql "$DATABASE_URL" -v ON_ERROR_STOP=1 -v id=42 -v total=99.5 \
--        -v traceparent="$TRACEPARENT" -f order.sql
--
-- The order's table is the app's own:
--   create table orders (id bigint primary key, total numeric check (total >= 0));

begin;
set local bellhop.traceparent = :'traceparent';   -- for every job of this transaction; '' is none
select bellhop.submit('invoice', :'id', key => 'invoice.' || :'id') as job \gset
insert into orders (id, total) values (:id, :total);
commit;
\echo :job
