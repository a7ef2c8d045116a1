package main

// planted is a fault: guards that are left out together, so that a promise is lost. Where a second guard stands behind
// the first, both are left out. `bellhop torture` must find it.
type planted struct {
	name  string // in plain words; unique
	cuts  []cut
	harm  string // the fault of torture that brings it to light
	shows string // the invariant that is broken first of all
}

// plantedFaults is the table, in the order of the page.
func plantedFaults() []planted {
	return append(plantedClaims, plantedQueue...)
}

// plantedClaims lose the one owner of a job, its end, or the count of its attempts.
var plantedClaims = []planted{
	{
		name: "an outcome is recorded for a claim that is over",
		cuts: []cut{
			{"as o (id, fence, child, successes, ago)\n where j.id = any ($2) and j.id = o.id\n   and j.fence = o.fence and j.instance = $1",
				"as o (id, fence, child, successes, ago)\n where j.id = any ($2) and j.id = o.id\n   and $1::bigint > 0"},
			{"    from o\n   where j.id = any ($2) and j.id = o.id\n     and j.fence = o.fence and j.instance = $1",
				"    from o\n   where j.id = any ($2) and j.id = o.id\n     and $1::bigint > 0"},
		},
		harm: "black-hole", shows: "proven",
	},
	{
		name: "an instance whose lease is over lets its work go on, and so does its guard",
		cuts: []cut{
			{"m.Tell(message.RoleHosts, &message.Fenced{})", "m.Tell(message.RoleHosts, &message.Describe{})"},
			{"if !w.ending && !w.lease.IsZero() && !now.Before(w.lease) {", "if !w.ending && w.lease.IsZero() && now.IsZero() {"},
		},
		harm: "black-hole", shows: "alone",
	},
	{
		name: "a guard does not heed the end of the lease",
		cuts: []cut{{"if !w.ending && !w.lease.IsZero() && !now.Before(w.lease) {", "if !w.ending && w.lease.IsZero() && now.IsZero() {"}},
		harm: "serve-paused", shows: "alone",
	},
	{
		name: "agents outlive their guard (no PDEATHSIG), and nothing looks for them",
		cuts: []cut{
			{"attr.Pdeathsig = syscall.SIGKILL }", "}"},
			{"if such(mark) {", "if such(mark) && pid < 0 {"},
			{"orphans := append(s.orphans(), guard.KillCgroup(s.cgroup)...)", "orphans := s.orphans()[:0]"},
		},
		harm: "guard-killed", shows: "alone",
	},
	{
		name: "an instance that is killed leaves its guard and agents behind",
		cuts: []cut{
			{"case err != nil || n == 0:\n\t\tg.orphaned = true\n\t\tg.endAll(SchedulerGone)", "case err != nil || n == 0:\n\t\tg.ears.drop(g.socket)"},
			{"if !w.ending && !w.lease.IsZero() && !now.Before(w.lease) {", "if !w.ending && w.lease.IsZero() && now.IsZero() {"},
			{"b.reaped = h.Reaper.Reap(ctx, s)", "_ = h.Reaper.Reap"},
			{"if w.end(SchedulerGone); w.agent == 0 {", "if w.agent == 0 {"},
		},
		harm: "serve-killed", shows: "alone",
	},
	{
		name: "a living instance is taken for dead",
		cuts: []cut{
			{"heartbeat_at < clock_timestamp() - lag\n", "heartbeat_at < clock_timestamp() - lag / 30\n"},
			{
				"and ($3 or i.heartbeat_at < clock_timestamp() - i.lag\n",
				"and ($3 or i.heartbeat_at < clock_timestamp() - i.lag / 30\n",
			},
		},
		harm: "reload", shows: "alone",
	},
	{
		name: "the jobs of a dead instance are not freed",
		cuts: []cut{
			{"where h.instance = dead.id and h.state in ('assigned', 'running')", "where h.instance = dead.id and h.state = 'none'"},
			{"coalesce(s.instance, 0) <> all (array(select i.id from bellhop.instance i where i.state = 'live'))",
				"coalesce(s.instance, 0) <> all (array(select i.id from bellhop.instance i))"},
		},
		harm: "serve-killed", shows: "ends",
	},
	{
		name: "a run that its instance lost counts as an attempt",
		cuts: []cut{{"attempt = j.attempt - 1, instance = null, host = null, attempt_at = null,\n         items_total = null, items_done = null",
			"instance = null, host = null, attempt_at = null,\n         items_total = null, items_done = null"}},
		harm: "serve-killed", shows: "counted",
	},
	{
		name: "a run that its guard lost counts as an attempt",
		cuts: []cut{{"case r.Outcome == OutcomeLost || p.snooze(r) > 0:", "case p.snooze(r) > 0:"}},
		harm: "guard-killed", shows: "counted",
	},
	{
		name: "a claim takes rows that another claim is taking",
		cuts: []cut{{"          order by r.priority, r.id\n          limit $4\n            for update skip locked))\n   and exists (select 1 from bellhop.instance i where i.id = $1 and i.state = 'live' and not i.paused && array[$3, ''])",
			"          order by r.priority, r.id\n          limit $4))\n   and exists (select 1 from bellhop.instance i where i.id = $1 and i.state = 'live' and not i.paused && array[$3, ''])"}},
		harm: "reload", shows: "alone",
	},
	{
		name: "fences do not begin again above the floor of a new server",
		cuts: []cut{
			{"greatest(j.fence + 1, $9::bigint)", "greatest(j.fence + 1, least($9::bigint, 0))"},
			{"greatest(j.fence + 1, $8::bigint)", "greatest(j.fence + 1, least($8::bigint, 0))"},
			{"greatest(j.fence + 1, $12::bigint)", "greatest(j.fence + 1, least($12::bigint, 0))"},
			{"greatest(j.fence + 1, $14::bigint)", "greatest(j.fence + 1, least($14::bigint, 0))"},
			{"greatest(j.fence + 1, $11::bigint)", "greatest(j.fence + 1, least($11::bigint, 0))"},
		},
		harm: "promotion-asynchronous+serve-killed", shows: "counted",
	},
	{
		name: "an outcome counts as written before it is, and nothing looks for claims without work",
		cuts: []cut{
			{"\tl.Later(c.Self(), wait, &retryFlush{})", "\tl.Outbox.Acked(nil, time.Now())\n\tl.Later(c.Self(), wait, &retryFlush{})"},
			{"f.Lost = append(f.Lost, hold)", "f.Lost = append(f.Lost[:0:0], f.Lost...)"},
		},
		harm: "reset", shows: "ends",
	},
	{
		name: "outcomes do not wait for the disk",
		cuts: []cut{{`settings := map[string]string{"synchronous_commit": "on", "lock_timeout": rowWait}`, `settings := map[string]string{"synchronous_commit": "off", "lock_timeout": rowWait}`}},
		harm: "server-killed", shows: "proven",
	},
	{
		name: "a failing job is tried again without limit",
		cuts: []cut{{"if r.Line.Attempt >= p.allowed(r.Line.MaxAttempts) || p.never(r) {", "if p.never(r) {"}},
		harm: "reload", shows: "counted",
	},
}

// plantedQueue lose order, locks, events, items, or a ring.
var plantedQueue = []planted{
	{
		name: "a dependency that is not met holds nothing up",
		cuts: []cut{
			{"when v.unmet > 0 then 'blocked'", "when v.unmet < 0 then 'blocked'"},
			{"where j.state = 'ready' and not j.held and j.unmet is null and j.locks is null and j.share is null\n", "where j.state = 'ready' and not j.held and j.locks is null and j.share is null\n"},
		},
		harm: "reload", shows: "ordered",
	},
	{
		name: "a scheduled job starts before its time",
		cuts: []cut{
			{"where d.state = 'scheduled' and not d.held and d.run_at <= (select t.at from t)\n              order by d.run_at limit 1000 for update",
				"where d.state = 'scheduled' and not d.held and d.run_at <= (select t.at from t) + interval '1 h'\n              order by d.run_at limit 1000 for update"},
			{"where j.state = 'ready' and not j.held and j.unmet is null and j.locks is null and j.share is null\n     and (j.run_at is null or j.run_at <= clock_timestamp())",
				"where j.state = 'ready' and not j.held and j.unmet is null and j.locks is null and j.share is null"},
		},
		harm: "reload", shows: "ordered",
	},
	{
		name: "a scheduled job never starts",
		cuts: []cut{{"where d.state = 'scheduled' and not d.held and d.run_at <= (select t.at from t)\n              order by d.run_at limit 1000 for update",
			"where d.state = 'scheduled' and not d.held and d.run_at <= (select t.at from t) - interval '1 h'\n              order by d.run_at limit 1000 for update"}},
		harm: "reload", shows: "ends",
	},
	{
		name: "a pass of locks ignores shared holders",
		cuts: []cut{{"func clash(a, b Mode) bool { return a != 0 && b != 0 && max(a, b) == Exclusive }",
			"func clash(a, b Mode) bool { return a != 0 && b != 0 && min(a, b) == Exclusive }"},
			{"	if mode == Exclusive && len(m.shared) > 0 && m.shared[0] < first {",
				"	if mode == 0 && len(m.shared) > 0 && m.shared[0] < first {"}},
		harm: "reload", shows: "locks",
	},
	{
		name: "two passes of locks are made at once",
		cuts: []cut{{"from (select pg_advisory_xact_lock($1)) turn", "from (select pg_advisory_xact_lock($1::bigint + pg_backend_pid())) turn"}},
		harm: "more-and-fewer", shows: "locks",
	},
	{
		name: "an event starts a run in each instance that sees it",
		cuts: []cut{{"     where v.run is null\n", "     where (v.run is null or v.at > clock_timestamp() - interval '1 s')\n"}},
		harm: "reload", shows: "events",
	},
	{
		name: "an event is told, and not kept",
		cuts: []cut{{"insert into bellhop.event (workflow, event, parameters) values (called, happened.event, given) on conflict (workflow, event) do nothing;",
			"insert into bellhop.event (workflow, event, parameters) select called, happened.event, given where random() < 0.8 on conflict (workflow, event) do nothing;"}},
		harm: "reload", shows: "events",
	},
	{
		name: "a key may be that of two jobs",
		cuts: []cut{
			{"create unique index jobqueue_key on bellhop.jobqueue", "create index jobqueue_key on bellhop.jobqueue"},
			{"    on conflict (key) where j.key is not null do nothing\n    returning j.id into new_id;", "    returning j.id into new_id;"},
		},
		harm: "reload", shows: "events",
	},
	{
		name: "a query ends before its items have",
		cuts: []cut{{"if !m.over || m.inFlight > 0 {", "if !m.over {"}},
		harm: "reload", shows: "items",
	},
	{
		name: "an item that its guard lost counts as done",
		cuts: []cut{{"	case OutcomeLost:\n		return ItemRetry, m.tries[item]", "	case OutcomeLost:\n		m.settle(item)\n		m.Items.Done++\n		return ItemDone, 0"}},
		harm: "guard-killed", shows: "items",
	},
	{
		name: "items count again when their query was cut off",
		cuts: []cut{{"m.Items = Items{Total: -1, Failed: m.Items.Failed}", "m.Items.Total = -1"}},
		harm: "sessions-ended", shows: "items",
	},
	{
		name: "a listener that hears nothing is kept, and nothing looks without a ring",
		cuts: []cut{
			{"if b.Hearing.missed.Load() > deafAfter && ", "if b.Hearing.missed.Load() < 0 && "},
			{"b.Ring(&message.Rang{Scan: true})\n\t\tb.Rows.Scan()", "b.Rows.Scan()"},
			{"g.State = GateAwake\n\t\treturn g, []GateEffect{GateScan, GateArm}", "g.State = GateAwake\n\t\treturn g, nil"},
		},
		harm: "deaf-for-good", shows: "ends",
	},
	{
		name: "the outcome of an attached row is forgotten",
		cuts: []cut{{"        execute change using tids[low:high], tabs[low:high], states[low:high], exits[low:high];\n        get diagnostics before = row_count;\n        if before <> high - low + 1 then",
			"        if false then"}},
		harm: "reload", shows: "events",
	},
}
