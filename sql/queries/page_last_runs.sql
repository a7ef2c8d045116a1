-- The last ten runs of each workflow that were not skipped, among its last 60, the oldest first. Guard: none, it only
-- reads. Indexes: workflow's primary key is read through; run_of.
select w.name as workflow, r.id, r.state
  from bellhop.workflow w
 cross join lateral (select x.id, x.state from (select y.id, y.state from bellhop.run y where y.workflow = w.name order by y.id desc limit 60) x
                      where x.state <> 'skipped' order by x.id desc limit 10) r
 order by w.name, r.id
