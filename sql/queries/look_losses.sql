-- Losses in failovers that no operator has read yet, the oldest first. Index: loss_unseen.
select l.at, l.name, l.was, l.server, l.gone, l.again from bellhop.loss l where l.seen_at is null order by l.id limit 100
