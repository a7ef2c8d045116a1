-- In how many ms instance $1 has something to send; NULL: nothing. Index: notice_open; notice_until.
select bellhop.notices_next($1)
