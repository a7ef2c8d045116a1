-- In how many ms instance $1 has something to send besides $2, which it has under way, and to receivers other than $3, which have no room; NULL:
-- nothing. Index: notice_receiver; notice_until.
select bellhop.notices_next($1, $2::bigint[], $3::text[])
