-- The types that some live instance serves, and why none of their children comes up where that is so.
select a.type, bool_or(a.trouble = '{}'), min(a.trouble::text)
  from bellhop.agent a join bellhop.instance i on i.id = a.instance
 where i.state = 'live'
 group by a.type
