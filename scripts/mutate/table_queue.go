package main

var (
	ofLockPolicy = []string{"./scheduler/lock/...", "./scheduler/model/..."}
	ofSchema     = []string{"./sql/migrate/..."}
)

// ofLocks are the guards of locks, limits and the order of jobs.
var ofLocks = []guard{
	{
		name:    "passes are made in turn",
		promise: "Between a pass's look at the locks and its commit there is no other pass.",
		cut: cut{
			text:    "from (select pg_advisory_xact_lock($1)) turn",
			instead: "from (select pg_advisory_xact_lock($1::bigint + pg_backend_pid())) turn",
		},
		tests: ofStore,
		run:   "^TestFilters_TwoClaimersNeverExceedALimit$",
	},
	{
		name:    "locks that conflict",
		promise: "Two jobs with conflicting locks never run at one time.",
		cut: cut{
			text:    "func clash(a, b Mode) bool { return a != 0 && b != 0 && max(a, b) == Exclusive }",
			instead: "func clash(a, b Mode) bool { return a != 0 && b != 0 && min(a, b) == Exclusive }",
		},
		tests: ofLockPolicy,
		run:   "^TestConflicts_|^TestPass_",
	},
	{
		name:    "reservation for aged jobs",
		promise: "A job that has waited for long is not overtaken by jobs that want its locks.",
		cut: cut{
			text:    "if k.aged {\n\t\tb.reservedAt(w.now).Add(w.id, w.set)",
			instead: "if k.aged && w.id < 0 {\n\t\tb.reservedAt(w.now).Add(w.id, w.set)",
		},
		tests: ofLockPolicy,
		run:   "^TestSelect_NobodyStarves$|^TestPass_",
	},
	{
		name:    "priority that rises with waiting",
		promise: "A job with locks and a low priority starts in the end, however many more urgent jobs come.",
		cut: cut{
			text:    "return priority - int(ticks)",
			instead: "return priority - 0*int(ticks)",
		},
		tests: ofLockPolicy,
		run:   "^TestPriority_|^TestSelect_NobodyStarves$",
	},
	{
		name:    "an exclusive job is alone",
		promise: "While a job of an exclusive type runs, no other job starts on its instance.",
		cut: cut{
			text:    "return false, !x.shut && !x.draining",
			instead: "return false, !x.draining",
		},
		tests: ofScheduler,
		run:   "^TestExclusion_",
	},
	{
		name:    "max is divided among instances",
		promise: "All live instances together run no more children of a type than its max.",
		cut: cut{
			text:    "if rank < all%n {",
			instead: "if rank < n && all%n > 0 {",
		},
		tests: ofScheduler,
		run:   "^TestShare_",
	},
}

// ofQueue are the guards of dependencies, keys, checks and what is kept.
var ofQueue = []guard{
	{
		name:    "no cycles of dependencies",
		promise: "Jobs that would wait for each other for ever are refused.",
		cut: cut{
			text:    "perform bellhop.refuse_cycles(jobs); -- needs that are met already are on no cycle",
			instead: "",
		},
		tests: ofStore,
		run:   "^TestDependency_Cycles",
	},
	{
		name:    "cycles of two sessions",
		promise: "If two transactions each add half of a cycle, the second is refused.",
		cut: cut{
			text:    "lock table bellhop.dependency_turn in exclusive mode; -- no other transaction may",
			instead: "",
		},
		tests: ofStore,
		run:   "^TestDependency_CyclesOfTwoSessionsAreRefused$",
	},
	{
		name:    "a dependency on a job of another transaction is counted later",
		promise: "A job is not lost when the job that it needs ends while the dependency is inserted.",
		cut: cut{
			text:    "new.counted := ours;",
			instead: "new.counted := true;",
		},
		tests: ofStore,
		run:   "^TestDependency_ThatCameWhileWhatItNeedsEnded$|^TestDependency_InOneStatementWithItsJob$",
	},
	{
		name:    "a job with uncounted dependencies does not start",
		promise: "No job starts before the jobs that it needs, even if every trigger was disabled.",
		cut: cut{
			text: "or not exists (select from bellhop.dependency d where d.job = j.id and not d.counted));\n" +
				"comment on view bellhop.startable is 'Jobs without",
			instead: "or true);\ncomment on view bellhop.startable is 'Jobs without",
		},
		tests: ofStore,
		run:   "^TestUncounted_|^TestStartable_|^TestDependency_HoldsWithEveryTriggerDisabled$",
	},
	{
		name:    "a dependency comes in time",
		promise: "A dependency of a job that has started is refused, and not ignored.",
		cut: cut{
			text:    "if found then\n      raise object_not_in_prerequisite_state using\n        message = format('a dependency of",
			instead: "if false then\n      raise object_not_in_prerequisite_state using\n        message = format('a dependency of",
		},
		tests: ofStore,
		run:   "^TestDependency_OfAJobThatHasStartedComesTooLate$",
	},
	{
		name:    "COPY and INSERT meet the checks of submit",
		promise: "An impossible value is refused, whichever way it comes.",
		cut: cut{
			text:    "new.type = '' or octet_length(new.type) > 500\n    or new.run_on",
			instead: "octet_length(new.type) > 500\n    or new.run_on",
		},
		tests: ofSchema,
		run:   "^TestConstraints_",
	},
	{
		name:    "retention keeps needed jobs",
		promise: "A job that an open job needs is not deleted, however old it is.",
		cut: cut{
			text: "and not exists (select from bellhop.dependency d join bellhop.jobqueue c on c.id = d.job\n" +
				"                        where d.needs = j.id and (not d.met",
			instead: "and not exists (select from bellhop.dependency d join bellhop.jobqueue c on c.id = d.job\n" +
				"                        where d.needs = j.id and d.needs < 0 and (not d.met",
		},
		tests: ofStore,
		run:   "^TestRetention_",
	},
	{
		name:    "an MSQ job forgets no failed item",
		promise: "A query that runs again after a lost connection keeps the count of its failed items.",
		cut: cut{
			text:    "m.Items = Items{Total: -1, Failed: m.Items.Failed}",
			instead: "m.Items = Items{Total: -1}",
		},
		tests: ofScheduler,
		run:   "^TestMSQ_",
	},
	{
		name:    "an MSQ job waits for its items",
		promise: "An MSQ job ends after all of its items have.",
		cut: cut{
			text:    "if !m.over || m.inFlight > 0 {",
			instead: "if !m.over {",
		},
		tests: ofScheduler,
		run:   "^TestMSQ_",
	},
}

// ofRights are the guards of roles inside the database.
var ofRights = []guard{
	{
		name:    "functions with their owner's rights set their search_path",
		promise: "No caller makes such a function look in a schema of the caller's.",
		cut: cut{
			text: "language plpgsql volatile security definer\nset search_path = pg_catalog, bellhop, pg_temp\nas $$\n" +
				"#variable_conflict use_column\ndeclare\n  new_id bigint;\n",
			instead: "language plpgsql volatile security definer\nas $$\n#variable_conflict use_column\ndeclare\n  new_id bigint;\n",
		},
		tests: ofSchema,
		run:   "^TestSafety_NoFunctionLooksWhereItsCallerSays$",
	},
	{
		name:    "functions with their owner's rights run no code of a row's types",
		promise: "A row of a foreign table, with its types and casts, runs no code as bellhop's owner.",
		cut: cut{
			text: "execute bellhop.columns_read(wanted) into given using new;\n  exception when undefined_column then\n" +
				"    raise undefined_column",
			instead: "given := array(select to_jsonb(new) ->> w from unnest(wanted) w);\n  exception when undefined_column then\n" +
				"    raise undefined_column",
		},
		tests: ofSchema,
		run:   "^TestAttack_NoTypeOfARowIsRunByTheTriggerThatReadsIt$|^TestSafety_TriggersOnOthersTables$",
	},
	{
		name:    "jobs of others",
		promise: "A submitter changes its own jobs and no others.",
		cut: cut{
			text:    "select bellhop.owns(submitted_by) or bellhop.is_operator()\n      or pg_catalog.has_table_privilege",
			instead: "select true or bellhop.is_operator()\n      or pg_catalog.has_table_privilege",
		},
		tests: ofSchema,
		run:   "^TestOwn_JobsAreTheirSubmitters$",
	},
	{
		name:    "columns that a submitter may write",
		promise: "A submitter cannot set a state, an owner or a result of a job.",
		cut: cut{
			text:    "insert (type, args, msq, repeat, run_on, key, priority, priority_name, run_at, held, vars, locks, reasons,",
			instead: "insert (type, args, msq, repeat, run_on, key, priority, priority_name, run_at, held, vars, locks, reasons, state, submitted_by,",
		},
		tests: ofSchema,
		run:   "^TestRoles_SubmitterSubmitsAndSeesNothing$",
	},
	{
		name:    "commands are for operators",
		promise: "A submitter cannot give orders to the scheduler by a job.",
		cut: cut{
			text:    "if not bellhop.is_operator() then\n    raise insufficient_privilege using\n      message = format('permission denied: %s may not give commands",
			instead: "if false then\n    raise insufficient_privilege using\n      message = format('permission denied: %s may not give commands",
		},
		tests: []string{"./sql/migrate/...", "./e2e/..."},
		run:   "^TestCommands_AreForOperators$",
	},
	{
		name:    "the key of another's job reveals nothing",
		promise: "A submitter cannot guess the content of another one's job by its key.",
		cut: cut{
			text:    "if not (bellhop.owns(old.submitted_by) or bellhop.is_operator() or old.submitted_by is null) then",
			instead: "if false then",
		},
		tests: ofSchema,
		run:   "^TestOwn_AKeyOfAnotherTellsNothing$",
	},
	{
		name:    "orders are kept under the caller's own name",
		promise: "An operator cannot give an order in another one's name.",
		cut: cut{
			text:    "where r.rolname = 'bellhop_scheduler') then\n    return nullif(current_setting(setting, true), '');",
			instead: "where r.rolname = 'bellhop_scheduler') or true then\n    return nullif(current_setting(setting, true), '');",
		},
		tests: ofSchema,
		run:   "^TestAttack_NobodyGivesOrdersInAnothersName$",
	},
}
