-- The filters in the order in which they are asked; $1: that one only (NULL: all). Guard: none, it only reads. Index: none, or the primary key.
select f.id, f.priority, f.watermark, f.predicates, f.action, f.reason, f.created_at, f.created_by
  from bellhop.filter f
 where $1::text is null or f.id = $1
 order by f.priority, f.watermark, f.id collate "C"
