-- What whoever asks may do, so that a page shows no button that would be refused. What is done is refused by PostgreSQL itself.
select bellhop.is_operator() as operates, bellhop.is_reader() as reads
