-- How messages of the last day went, by the way they are sent, of the 1,000 newest. Index: the primary key.
select n.channel,
       count(*) filter (where n.status = 'waiting' and n.tries > 0) as failing,
       count(*) filter (where n.status = 'given_up') as given_up,
       count(*) filter (where n.status = 'sent') as sent
  from (select m.channel, m.status, m.tries, m.at from bellhop.notice m order by m.id desc limit 1000) n
 where n.at > clock_timestamp() - interval '1 day'
 group by n.channel
 order by n.channel
