-- Whether a host can be reached. $1 instance, $2 host, $3 state, $4 why not (empty: it can). Index: host_pkey.
update bellhop.host
   set state_since = case when state = $3 then state_since else clock_timestamp() end,
       state = $3, trouble = nullif($4, '')
 where instance = $1 and name = $2
