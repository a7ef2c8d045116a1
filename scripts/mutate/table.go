package main

import "slices"

// Packages of the tests.
var (
	ofStore     = []string{"./sql/store/..."}
	ofActors    = []string{"./actors/..."}
	ofScheduler = []string{"./scheduler/..."}
)

// guards is the table, in the order of the page.
func guards() []guard {
	return slices.Concat(ofClaims, ofOutbox, ofGate, ofLocks, ofQueue, ofRights, ofProcesses, ofEdges, ofRest, ofPages)
}

// ofClaims are the guards of claims, outcomes, leases and takeovers.
var ofClaims = []guard{
	{
		name:    "fence in an outcome",
		promise: "An outcome is recorded only for the claim that it belongs to.",
		cut: cut{
			text: "as o (id, fence, child, successes, ago)\n where j.id = any ($2) and j.id = o.id\n" +
				"   and j.fence = o.fence and j.instance = $1",
			instead: "as o (id, fence, child, successes, ago)\n where j.id = any ($2) and j.id = o.id\n   and j.instance = $1",
		},
		tests: ofStore,
		run:   "^TestRecord_GuardsChangeNothing$",
	},
	{
		name:    "fence in a failure",
		promise: "A failure, a retry or a cancellation is recorded only for the claim that it belongs to.",
		cut: cut{
			text:    "    from o\n   where j.id = any ($2) and j.id = o.id\n     and j.fence = o.fence and j.instance = $1",
			instead: "    from o\n   where j.id = any ($2) and j.id = o.id\n     and j.instance = $1",
		},
		tests: ofStore,
		run:   "^TestRecord_GuardsChangeNothing$",
	},
	{
		name:    "fence of a job that goes back",
		promise: "An instance gives back only the claim that it has.",
		cut: cut{
			text: "as o (id, fence, why, lost, host, child, began, ended, rests)\n where j.id = any ($2) and j.id = o.id\n" +
				"   and j.fence = o.fence",
			instead: "as o (id, fence, why, lost, host, child, began, ended, rests)\n where j.id = any ($2) and j.id = o.id\n   and true",
		},
		tests: ofStore,
		run:   "^TestRecord_GuardsChangeNothing$",
	},
	{
		name:    "floor of fences",
		promise: "No fence is given twice for a job, whatever the database forgets in a crash or a failover.",
		cut: cut{
			text:    "greatest(j.fence + 1, $9::bigint)",
			instead: "greatest(j.fence + 1, least($9::bigint, 0))",
		},
		tests: ofStore,
		run:   "^TestClaim_EveryWayKeepsAboveTheFloor$",
	},
	{
		name:    "a claim needs a live instance",
		promise: "An instance that counts as dead, and does not know it, claims no job.",
		cut: cut{
			text:    "where i.id = $1 and i.state = 'live' and not i.paused && array[$3, ''])",
			instead: "where i.id = $1 and not i.paused && array[$3, ''])",
		},
		tests: ofStore,
		run:   "^TestClaim_NoWayIsOpenToTheDead$",
	},
	{
		name:    "an instance whose lease is over claims nothing",
		promise: "When the lease is over, an instance claims nothing until its heartbeat is answered again.",
		cut: cut{
			text:    "grant := d.ready && !d.fenced",
			instead: "grant := d.ready",
		},
		tests: ofActors,
		run:   "^TestDispatcher_ClaimsNothingWhileFenced$",
	},
	{
		name:    "an instance whose lease is over stops its work",
		promise: "What runs is dead before other instances may take the jobs over.",
		cut: cut{
			text:    "m.Tell(message.RoleHosts, &message.Fenced{})",
			instead: "m.Tell(message.RoleHosts, &message.Describe{})",
		},
		tests: ofActors,
		run:   "^TestMembership_FencesWhenTheLeaseIsOver$",
	},
	{
		name:    "re-assertion before a claim",
		promise: "After a lost connection an instance first takes its running jobs again, and then claims.",
		cut: cut{
			text:    "Claim: idle && !d.mustReassert && !d.auditDue",
			instead: "Claim: idle && !d.auditDue",
		},
		tests: ofActors,
		run:   "^TestDispatcher_AssertsBeforeItClaims$",
	},
	{
		name:    "no claim before all instances have re-asserted",
		promise: "After a crash of the database no instance claims a job that another one still runs.",
		cut: cut{
			text:    "where i.state = 'live' and not exists (select 1 from bellhop.asserted a where a.instance = i.id)",
			instead: "where false and not exists (select 1 from bellhop.asserted a where a.instance = i.id)",
		},
		tests: ofStore,
		run:   "^TestClaims?_NotBeforeWhatRunsIsAsserted$|^TestClaim_OthersThatHaveNotAsserted$",
	},
	{
		name:    "re-assertion of the own fence only",
		promise: "A claim that a crash has undone is taken again only if the job was not claimed since.",
		cut: cut{
			text:    "and j.state = 'ready' and j.fence < o.fence and",
			instead: "and j.state = 'ready' and",
		},
		tests: ofStore,
		run:   "^TestReassert_TakesOnlyRowsAsTheyWereBeforeTheClaim$",
	},
	{
		name:    "re-assertion of the same row only",
		promise: "A run does not go on for a new job to which another server gave the same id.",
		cut: cut{
			text:    "and j.id = any ($2) and j.id = o.id and j.created_at = o.created_at",
			instead: "and j.id = any ($2) and j.id = o.id",
		},
		tests: ofStore,
		run:   "^TestReassert_|^TestEra_",
	},
	{
		name:    "a takeover happens once",
		promise: "Two instances that find a third one dead take its jobs over once.",
		cut: cut{
			text:    "where i.id = $1 and i.state = 'live' and ($3 or i.heartbeat_at < clock_timestamp() - i.lag\n",
			instead: "where i.id = $1 and ($3 or i.heartbeat_at < clock_timestamp() - i.lag\n",
		},
		tests: ofStore,
		run:   "^TestMarkGone_",
	},
	{
		name:    "a takeover from the dead only",
		promise: "Jobs of an instance that still renews its heartbeat are left alone.",
		cut: cut{
			text:    "and ($3 or i.heartbeat_at < clock_timestamp() - i.lag\n",
			instead: "and ($3 or i.heartbeat_at <= clock_timestamp()\n",
		},
		tests: ofStore,
		run:   "^TestMarkGone_",
	},
	{
		name:    "leftovers are dead before a takeover",
		promise: "Jobs of a killed instance on this machine go back after its processes are dead.",
		cut: cut{
			text:    "b.reaped = h.Reaper.Reap(ctx, s)",
			instead: "go func() { _ = h.Reaper.Reap(ctx, s) }()",
		},
		tests: ofActors,
		run:   "^TestMembership_ReapsBeforeItTakesOver$",
	},
	{
		name:    "stray claims are found",
		promise: "A claim that commits while its instance is declared dead does not hold its job for ever.",
		cut: cut{
			text:    "coalesce(s.instance, 0) <> all (array(select i.id from bellhop.instance i where i.state = 'live'))",
			instead: "coalesce(s.instance, 0) <> all (array(select i.id from bellhop.instance i))",
		},
		tests: ofStore,
		run:   "^TestDue_FreesWhatGoneInstancesHold$",
	},
	{
		name:    "a takeover costs no attempt",
		promise: "A run that its instance lost does not count as an attempt.",
		cut: cut{
			text: "attempt = j.attempt - 1, instance = null, host = null, attempt_at = null,\n" +
				"         items_total = null, items_done = null",
			instead: "instance = null, host = null, attempt_at = null,\n         items_total = null, items_done = null",
		},
		tests: ofStore,
		run:   "^TestMarkGone_",
	},
	{
		name:    "a snooze costs no attempt",
		promise: "A job that its agent puts off keeps its attempts.",
		cut: cut{
			text:    "case r.Outcome == OutcomeLost || p.snooze(r) > 0:",
			instead: "case r.Outcome == OutcomeLost:",
		},
		tests: ofScheduler,
		run:   "^TestJudge_",
	},
	{
		name:    "quarantine of a job that kills its agents",
		promise: "A job that kills its agent three times runs no fourth time, however many attempts it has.",
		cut: cut{
			text:    "v.Death && r.Line.Deaths+1 >= QuarantineDeaths",
			instead: "v.Death && r.Line.Deaths+1 > QuarantineDeaths",
		},
		tests: ofScheduler,
		run:   "^TestJudge_",
	},
}

// ofOutbox are the guards between an agent's end and the row that says so.
var ofOutbox = []guard{
	{
		name:    "the outbox keeps what is not acknowledged",
		promise: "An outcome that cannot be written is kept, and written when the database answers again.",
		cut: cut{
			text:    "\tl.Later(c.Self(), wait, &retryFlush{})",
			instead: "\tl.Outbox.Acked(nil, time.Now())\n\tl.Later(c.Self(), wait, &retryFlush{})",
		},
		tests: ofActors,
		run:   "^TestLedger_KeepsWhatItCannotWrite$",
	},
	{
		name:    "the outbox outlives its writer",
		promise: "Outcomes that a dead ledger left are written by the next one.",
		cut: cut{
			text:    "l.write(c) // what the last incarnation owed",
			instead: "// what the last incarnation owed",
		},
		tests: ofActors,
		run:   "^TestLedger_WritesWhatTheLastOneOwed$",
	},
	{
		name:    "a lost acknowledgement is remembered",
		promise: "After a lost answer a batch is written again, marked as a repetition, and no outcome counts as refused.",
		cut: cut{
			text:    "o.inFlight.MaybeCommitted = true",
			instead: "o.inFlight.MaybeCommitted = false",
		},
		tests: ofActors,
		run:   "^TestOutbox_|^TestLedger_",
	},
	{
		name:    "an outcome that was written before is recognised",
		promise: "After a lost acknowledgement the same outcome is recorded once, and reported as recorded.",
		cut: cut{
			text:    "alreadySQL, int64(me), ids, fences, b.MaybeCommitted)",
			instead: "alreadySQL, int64(me), ids, fences, false)",
		},
		tests: ofStore,
		run:   "^TestRecord_AgainAfterALostAnswer$",
	},
	{
		name:    "a refused batch is halved",
		promise: "An outcome that the database refuses holds up no other outcome.",
		cut: cut{
			text:    "case n > 1:\n\t\treturn f.both(ctx, scheduler.Batch{Records: b.Records[:n/2]",
			instead: "case n > 1<<30:\n\t\treturn f.both(ctx, scheduler.Batch{Records: b.Records[:n/2]",
		},
		tests: ofActors,
		run:   "^TestLedger_ARefusedOutcomeHoldsUpNoOther$",
	},
	{
		name:    "an outcome of a locked row is put aside",
		promise: "While an app has locked a job's row, the outcome of that job is kept, and others pass it by.",
		cut: cut{
			text:    "first = o.deferred.acked(o.inFlight, busy, now)",
			instead: "first = o.deferred.acked(o.inFlight, nil, now)",
		},
		tests: ofActors,
		run:   "^TestOutbox_WhatIsAsideIsPassedBy$",
	},
	{
		name:    "outcomes wait for the disk",
		promise: "An outcome that was acknowledged survives a crash of the database.",
		cut: cut{
			text:    `settings := map[string]string{"synchronous_commit": "on", "lock_timeout": rowWait}`,
			instead: `settings := map[string]string{"synchronous_commit": "off", "lock_timeout": rowWait}`,
		},
		tests: ofStore,
		run:   "^TestSettings_WhatWaitsForTheDisk$",
	},
	{
		name:    "a full outbox begins nothing",
		promise: "Pending outcomes are bounded: while too many wait, no job is claimed.",
		cut: cut{
			text:    "return len(o.waiting.Records)+len(o.inFlight.Records)+len(o.deferred.batch.Records) >= owedMost",
			instead: "return len(o.waiting.Records)+len(o.inFlight.Records)+len(o.deferred.batch.Records) < 0",
		},
		tests: ofActors,
		run:   "^TestOutbox_IsFullUntilEnoughIsWritten$",
	},
	{
		name:    "an audit finds lost work",
		promise: "A claim that only the database knows goes back to the queue.",
		cut: cut{
			text:    "f.Lost = append(f.Lost, hold)",
			instead: "f.Lost = append(f.Lost[:0:0], f.Lost...)",
		},
		tests: []string{"./scheduler/...", "./actors/..."},
		run:   "^TestReconcile_|^TestAudit_",
	},
}

// ofGate are the guards of the bell: no committed job waits without a look.
var ofGate = []guard{
	{
		name:    "a look when the gate is shut",
		promise: "A job of a producer that found the gate open is seen after the gate is shut.",
		cut: cut{
			text:    "g.State = GateAsleep\n\t\treturn g, []GateEffect{GateScan}",
			instead: "g.State = GateAsleep\n\t\treturn g, nil",
		},
		tests: ofScheduler,
		run:   "^TestGate_",
	},
	{
		name:    "a look when the gate is lost",
		promise: "An instance that loses the gate looks at the queue immediately, and goes on looking.",
		cut: cut{
			text:    "g.State = GateAwake\n\t\treturn g, []GateEffect{GateScan, GateArm}",
			instead: "g.State = GateAwake\n\t\treturn g, nil",
		},
		tests: ofScheduler,
		run:   "^TestGate_",
	},
	{
		name:    "answers to withdrawn requests are ignored",
		promise: "The answer to a request that was withdrawn does not put an instance to sleep.",
		cut: cut{
			text:    "ev.Kind.answers() && ev.Ask != g.Ask",
			instead: "ev.Kind.answers() && ev.Ask > g.Ask",
		},
		tests: []string{"./scheduler/model/..."},
		run:   "^TestGate_",
	},
	{
		name:    "the ring belongs to the insert",
		promise: "While an instance sleeps, the commit of an INSERT rings.",
		cut: cut{
			text:    "perform pg_notify('bellhop', 'inserted');\n  perform pg_notify('bellhop_work', '');",
			instead: "perform pg_notify('bellhop_work', '');",
		},
		tests: ofStore,
		run:   "^TestGate_ProducersRingOnlyWhileItIsKept$",
	},
	{
		name:    "a silent producer keeps the gate to its end",
		promise: "An instance does not sleep while a producer that will not ring has not committed.",
		cut: cut{
			text:    "perform pg_advisory_lock(key); -- the session's: it outlives this statement",
			instead: "perform pg_try_advisory_lock(key);",
		},
		tests: ofStore,
		run:   "^TestGate_",
	},
}
