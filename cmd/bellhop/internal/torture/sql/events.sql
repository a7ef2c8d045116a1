-- How many runs each row started. Guard: none; it reads.
select t.id, count(r.id) from public.torture_event t left join bellhop.run r on r.event = 'public.torture_event=' || t.id
 group by t.id order by t.id
