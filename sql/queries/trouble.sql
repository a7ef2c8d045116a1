-- Why no child of a type comes up, by host: the reasons for all, agents' words for operators.
-- $1 instance, $2 type, $3 reasons, $4 words. Guard: it is this instance's agent. Indexes: the primary keys.
with told as (
  update bellhop.agent set trouble = $3 where instance = $1 and type = $2
  returning instance, type
)
insert into bellhop.agent_words (instance, type, words)
select t.instance, t.type, $4 from told t
on conflict (instance, type) do update set words = excluded.words
