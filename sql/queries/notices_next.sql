-- In how many ms instance $1 has a message to send that is not among $2, which it has under way, and not for receivers
-- $3, which have no room; NULL: none. Index: notice_receiver; notice_until.
select bellhop.notices_next($1, $2::bigint[], $3::text[])
