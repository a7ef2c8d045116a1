package grammar

// Edit is a change of a job that waits: bellhop.edit, PATCH /jobs/{id}, `bellhop edit`, client.Edit.
var Edit = Object{
	Name:  "A change of a waiting job",
	Says:  "`bellhop.edit(…)`, `PATCH /api/v1/jobs/{id}`, `bellhop edit`, `client.Edit`. Fields left out do not change",
	Faces: []Face{SQL, REST, Command, Go},
	Fields: []Field{
		of("priority", func(*Field) {}),
		of("priority_name", func(f *Field) { f.Without = map[Face]string{Go: "an app has numbers"} }),
		of("run_at", func(f *Field) {
			f.Says = "The time before which the job does not start; a past time means now"
			f.Usage = "not before this `time`: 2026-12-24T18:00:00Z, +10m from now, or now"
		}),
		of("args", func(f *Field) { f.Without, f.Says = nil, "The `line` for the agent" }),
		of("max_attempts", func(*Field) {}),
		of("timeout", func(*Field) {}),
		of("held", func(f *Field) {
			f.Go, f.Argument = "Hold", "hold"
			f.Says, f.Usage = "Whether the job is held; false releases it (SQL: hold)", "hold it until it is released"
		}),
		of("not_after", func(f *Field) {
			f.Usage = "cancel it if it has not begun by this `time`, written as for --at; never: no such time"
		}),
		of("run_on", func(f *Field) {
			f.Says = "The `host`, or a name that hosts serve, on which the job has to run; empty: any host"
		}),
		of("vars", func(f *Field) {
			f.Says = "Variables for the agent, in place of all of the job's"
			f.Usage = "a variable for the agent, `name=value`; repeatable; replaces all of its variables; '': none"
		}),
		of("msq", func(f *Field) { f.Says = "Another `query`, for an MSQ job" }),
		of("on_failure", func(*Field) {}),
	},
}

// of is a field of a submission as an edit has it: there is no default, since what is left out stays.
func of(name string, change func(*Field)) Field {
	f := Submission.Field(name)
	f.Needed, f.Default = false, ""
	change(&f)
	return f
}

// Filter is a rule about jobs: bellhop.filter_add, POST /filters, `bellhop filter add`.
var Filter = Object{
	Name:  "A filter",
	Says:  "`bellhop.filter_add(…)`, `bellhop.filter_replace(id, …)`, `POST /api/v1/filters`, `bellhop filter add`",
	Faces: []Face{SQL, REST, Command},
	Fields: []Field{
		{
			Name: "action", Kind: Word, Needed: true, Least: 1, Most: 100, Example: "RATE_LIMIT 2",
			Says: "The `action` on matching jobs: ACCEPT, CONTINUE, PAUSE, REJECT, RATE_LIMIT N, RATE_LIMIT N per TIME, or either by vars.NAME or by share",
		},
		{
			Name: "predicates", Flag: "predicate", Kind: JSON, Most: 100, Default: "every job", Example: `["opcode",["=","type","mail"]]`,
			Says:  "Predicates, all of which must hold for a job",
			Usage: "a predicate, as `JSON`; repeatable, and all must hold (default: every job)",
		},
		{
			Name: "priority", Kind: Count, Most: 2147483647, Default: "0", Example: "0",
			Says: "A `number` from 0 on: the lowest rule comes first",
		},
		{
			Name: "reason", Kind: Text, Most: 1000, Example: "until noon",
			Says: "The `text` that a refused or waiting job's submitter is told",
		},
	},
}
