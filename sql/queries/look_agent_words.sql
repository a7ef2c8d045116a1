-- The last words of live instances' agents that do not come up. Index: instance_live.
select w.instance, w.type, w.words
  from bellhop.instance i
  join bellhop.agent_words w on w.instance = i.id
 where i.state = 'live' and w.words <> '{}'
