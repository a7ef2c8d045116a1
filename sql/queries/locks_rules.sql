-- The filters, for a pass. Guard: none, it only reads; a change of filters waits for the pass's end. Index: none, they
-- are few.
select f.id, f.priority, f.watermark, f.predicates, f.action, f.reason from bellhop.filter f
