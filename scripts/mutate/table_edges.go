package main

var (
	ofAgents = []string{"./agents/..."}
	ofWeb    = []string{"./web/..."}
)

// ofProcesses are the guards of agents' processes, and of what agents say.
var ofProcesses = []guard{
	{
		name:    "PDEATHSIG",
		promise: "The agents of a guard that is killed die with it.",
		cut: cut{
			text:    "attr.Pdeathsig = syscall.SIGKILL }",
			instead: "}",
		},
		tests: ofAgents,
		run:   "^TestGuard_AgentsDieWithAGuardThatIsKilledBesideItsScheduler$",
	},
	{
		name:    "a guard ends when serve is gone",
		promise: "No agent and no guard outlives a killed instance.",
		cut: cut{
			text:    "case err != nil || n == 0:\n\t\tg.orphaned = true\n\t\tg.endAll(SchedulerGone)",
			instead: "case err != nil || n == 0:\n\t\tg.ignore(g.socket)",
		},
		tests: ofAgents,
		run:   "^TestGuard_SchedulerKilledMinusNineLeavesNothing$",
	},
	{
		name:    "kill_after",
		promise: "A child that does not end when it is told to is killed, again and again until it is dead.",
		cut: cut{
			text:    "c.Since = now // and again, should one not have been enough\n\t\t\treturn c, []Effect{{Kind: EffectKill}}",
			instead: "c.Since = now\n\t\t\treturn c, nil",
		},
		tests: ofScheduler,
		run:   "^TestChild_DeadlinesComeAgainUntilTheProcessIsDead$|^TestChildTable_",
	},
	{
		name:    "pauses between respawns",
		promise: "An agent that dies again and again is not started again without a pause.",
		cut: cut{
			text:    "if r.InARow >= 2 {\n\t\tr.NextAt = now.Add(Backoff(",
			instead: "if r.InARow >= 1<<30 {\n\t\tr.NextAt = now.Add(Backoff(",
		},
		tests: ofScheduler,
		run:   "^TestRespawn_",
	},
	{
		name:    "five deaths bar a type",
		promise: "A type whose agents die five times within five minutes rests on that host.",
		cut: cut{
			text:    "if r.Tripped || p.Deaths > 0 && len(r.Deaths) >= p.Deaths {",
			instead: "if r.Tripped {",
		},
		tests: ofScheduler,
		run:   "^TestRespawn_",
	},
	{
		name:    "bound of a log",
		promise: "Of what an agent says in one attempt, the log keeps a bounded part.",
		cut: cut{
			text:    "if o.lines <= maxLogLines && o.bytes <= maxLogBytes {",
			instead: "if o.lines > 0 {",
		},
		tests: ofAgents,
		run:   "^TestOutput_KeepsTheBeginAndTheEnd$",
	},
	{
		name:    "bound of a frame",
		promise: "A host that sends a length of four gigabytes costs no memory here.",
		cut: cut{
			text:    "if n > framePiece && (head[0] != frameRequest || n > MaxRequest) {",
			instead: "if n > framePiece && head[0] == 0 {",
		},
		tests: []string{"./agents/guard/..."},
		run:   "^TestFrames_",
	},
}

// ofEdges are the guards of what comes over HTTP, and of what leaves and comes otherwise.
var ofEdges = []guard{
	{
		name:    "bound of a body",
		promise: "A request with a longer body than allowed is refused before all of it is read.",
		cut: cut{
			text:    "r.Body = http.MaxBytesReader(plain, r.Body, most)",
			instead: "_, _ = plain, most",
		},
		tests: ofWeb,
		run:   "^TestBodies_AreBoundedBeforeTheyAreParsed$|^TestDoor_BodiesAreBounded$",
	},
	{
		name:    "loopback only without a token",
		promise: "An instance without a token listens on no address that other machines can reach.",
		cut: cut{
			text:    "if len(c.Tokens) == 0 && c.People == nil && !loopback {",
			instead: "if len(c.Tokens) == 0 && c.People == nil && host == \"\" && loopback {",
		},
		tests: ofWeb,
		run:   "^TestListen_RefusesWhatOtherMachinesCanReach$",
	},
	{
		name:    "unknown host names",
		promise: "A request under another host name that leads to this address gets no answer (DNS rebinding).",
		cut: cut{
			text:    "!d.hosts[hostOf(r.Host)] && !isAddress(r.Host) &&",
			instead: "r.Host == \"\" && !d.hosts[hostOf(r.Host)] && !isAddress(r.Host) &&",
		},
		tests: ofWeb,
		run:   "^TestDoor_RefusesNamesThatItDoesNotKnow$",
	},
	{
		name:    "orders of other sites",
		promise: "A page of another site gives no order in the name of a signed-in operator.",
		cut: cut{
			text:    "if err := d.cross.Check(r); err != nil {",
			instead: "if err := d.cross.Check(r); err != nil && r.Host == \"\" {",
		},
		tests: ofWeb,
		run:   "^TestDoor_RefusesWhatAnotherSiteSends$",
	},
	{
		name:    "the token of a form",
		promise: "An order by a cookie needs the token of the page that sent it.",
		cut: cut{
			text:    "if !sameText(sent, ",
			instead: "if sent != \"\" && !sameText(sent, ",
		},
		tests: ofWeb,
		run:   "^TestDoor_",
	},
	{
		name:    "a job that a pass chose may still start",
		promise: "A job that was cancelled, held or claimed after a pass has read it does not start.",
		cut: cut{
			text:    "select l.id from bellhop.lockable_row l where l.id = any ($3::bigint[]) for update skip locked",
			instead: "select l.id from bellhop.jobqueue l where l.id = any ($3::bigint[]) for update skip locked",
		},
		tests: ofStore,
		run:   "^TestLocks_WhatChangesWithinAPassDoesNotStart$",
	},
	{
		name:    "one migration at a time",
		promise: "Two instances that migrate at one moment do not run a step twice.",
		cut: cut{
			text:    `"select pg_advisory_lock($1)", int64(lockKey)); err != nil`,
			instead: `"select pg_advisory_lock_shared($1)", int64(lockKey)); err != nil`,
		},
		tests: ofSchema,
		run:   "^TestMigrate_ManyAtOnce$",
	},
	{
		name:    "an older program refuses a newer schema",
		promise: "A program does not start on a schema that says that it is too new for it.",
		cut: cut{
			text:    "if binary >= from {",
			instead: "if binary > 0 {",
		},
		tests: ofSchema,
		run:   "^TestMigrate_SaysWhatTheDatabaseIs$|^TestWorksFrom$",
	},
	{
		name:    "a message is in flight until its outcome is written",
		promise: "If an instance is killed, a receiver gets a bounded number of messages twice.",
		cut: cut{
			text:    "c.owed[n.ID] = owed{o, me, n.Receiver}\n\t\t\tc.ended++",
			instead: "c.owed[n.ID] = owed{o, me, \"\"}\n\t\t\tc.traffic.End(n.Receiver, o, time.Now())\n\t\t\tc.ended++",
		},
		tests: []string{"./courier/..."},
		run:   "^TestCourier_ASlotIsFreeOnceTheOutcomeIsWritten$",
	},
	{
		name:    "webhooks to public addresses only",
		promise: "No message is posted to an address of the internal network that bellhop.yaml does not name.",
		cut: cut{
			text:    "(&net.Dialer{Timeout: 10 * time.Second, Control: public}).DialContext",
			instead: "(&net.Dialer{Timeout: 10 * time.Second}).DialContext",
		},
		tests: []string{"./courier/..."},
		run:   "^TestWebhooks_PostToPublicAddressesOnly$",
	},
}
