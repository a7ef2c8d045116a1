package grammar

import "slices"

// Reasons for which a step, which is a job of a run, lacks a field of a submission.
const (
	ownRun      = "a run names its jobs by run and step"
	ownTime     = "a run's sensor says when; a step waits for others by after"
	ownNext     = "its run identifies a step, so no key is ever taken"
	ownParts    = "a step's needs are the names in after"
	ownTrace    = "a run has one trace, which its event brings"
	ownPriority = "RJM's letters are for RJM's jobs; a step has a number"
	ownTags     = "filters match a step's job by type, run and vars"
	ownRepeat   = "a query with a LIMIT runs until it is empty, one without runs once"
	ownWanted   = "on_failure says whether a step runs after one that failed"
	ownBatch    = "the jobs of a run belong to that run"
)

// Reasons for which a child job, which a run makes, lacks a field.
const (
	madeOnce  = "its run makes it once, with whatever else the run makes"
	madeNow   = "a run makes what needs its child jobs after their ends"
	madeIn    = "it has its parent's trace"
	madeAsOne = "its parent waits for it"
)

// notOf is why a step, and why a child job, lacks a field; empty: it has the field.
func notOf(step, child string) map[Face]string {
	lacks := map[Face]string{}
	if step != "" {
		lacks[File] = step
	}
	if child != "" {
		lacks[Child] = child
	}
	return lacks
}

// LeastPriority and MostPriority bound a priority, which is smaller the sooner a job starts.
const (
	LeastPriority = -20
	MostPriority  = 19
)

// Submission is a job as it is submitted: bellhop.submit, POST /jobs, `bellhop submit`, client.Job.
var Submission = Object{
	Name:  "A job that is submitted",
	Says:  "`bellhop.submit(…)`, `POST /api/v1/jobs`, `bellhop submit`, `client.Job`, and the columns of `bellhop.jobqueue`",
	Faces: []Face{SQL, REST, Command, Go, Child},
	Fields: []Field{
		{
			Name: "type", Kind: Word, Needed: true, MostBytes: 500, Example: "license",
			Says:    "The type, which names its agent",
			Without: map[Face]string{Command: "it is the first word"},
		},
		{
			Name: "args", Kind: Text, Example: "/srv/a.c",
			Says:    "The one line for the agent",
			Without: map[Face]string{Command: "it is the second word"},
		},
		{
			Name: "msq", Kind: Text, Go: "MSQ", Example: "select path from files where license is null",
			Says: "A `query` whose rows are the items of the job, in place of args",
		},
		{
			Name: "repeat", Kind: Word, Choices: []string{"once", "until_empty"},
			Default: "until_empty if the query has a LIMIT",
			Says:    "How `often` the query runs", Without: notOf(ownRepeat, ""),
		},
		{
			Name: "run_on", Kind: Word, MostBytes: 1000, Default: "any host", Example: "gpu",
			Says: "The `host`, or a name that hosts serve, on which the job has to run",
		},
		{
			Name: "key", Kind: Word, Most: 1000, MostBytes: 2600, Example: "nightly.2026-11-22",
			Says:    "A `name` for the job that no other has, finished ones included",
			Without: notOf(ownRun, madeOnce),
		},
		{
			Name: "share", Kind: Word, Most: 200, Example: "customer-42",
			Says: "The `key` among which the starts of jobs of one type and priority are shared, such as a customer",
		},
		{
			Name: "priority", Kind: Whole, Least: LeastPriority, Most: MostPriority, Default: "0", Example: "-5",
			Says:  "A `number`: the lowest goes first",
			Usage: "a `number` from -20 (first) to 19 (last), or urgent (-20), high (-10), normal (0), low (10)",
		},
		{
			Name: "priority_name", Kind: Word, Example: "b7",
			Says:    "A priority as RJM writes it, in place of priority: a `name`, of which the first letter counts: a is -13, n is 0, z is 12",
			Without: notOf(ownPriority, ownPriority),
		},
		{
			Name: "run_at", Kind: Time, Flag: "at", Default: "now", Example: "2026-12-24T18:00:00Z",
			Says:    "The time before which the job does not start",
			Usage:   "not before this `time`: 2026-12-24T18:00:00Z, or +10m from now",
			Without: notOf(ownTime, ""),
		},
		{
			Name: "held", Kind: Flag, Flag: "hold",
			Says:    "Whether the job waits until it is released",
			Usage:   "hold it until it is released: bellhop release",
			Without: notOf(ownTime, ""),
		},
		{
			Name: "vars", Kind: Pairs, Flag: "var", Example: "YEAR=2026",
			Says:  "Variables for the agent, names and texts",
			Usage: "a variable for the agent, `name=value`; repeatable",
		},
		{
			Name: "locks", Kind: Words, Flag: "lock", Example: "db:orders=exclusive",
			Says:  "Locks that the job holds while it runs: level:name=exclusive, level:*=shared, or big",
			Usage: "a `lock` it needs: level:name=exclusive, level:*=shared, big; repeatable",
		},
		{
			Name: "reasons", Kind: Words, Flag: "reason", Example: "import:2026-11",
			Says:    "Tags for filters. Of rate-limit:N:NAME at most N jobs run at once",
			Usage:   "a `tag` for filters: import:2026-11, or rate-limit:2:mail (two of this tag at once); repeatable",
			Without: notOf(ownTags, ""),
		},
		{
			Name: "max_attempts", Kind: Count, Least: 1, Default: "as its type says", Example: "3",
			Says: "The `number` of attempts, in all",
		},
		{
			Name: "timeout", Kind: Long, Default: "as its type says", Example: "90s",
			Says: "The longest `time` of one attempt",
		},
		{
			Name: "on_failure", Kind: Word, Choices: []string{"fail", "block", "run"}, Default: "fail",
			Says:    "The `reaction` if a job that it needs ends otherwise than wanted",
			Without: notOf("", madeNow),
		},
		{
			Name: "traceparent", Kind: Word, Example: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
			Says:    "The submitter's W3C trace context",
			Without: map[Face]string{Command: "the environment has it, as TRACEPARENT", File: ownTrace, Child: madeIn},
		},
		{
			Name: "after", Call: true, Kind: IDs, Example: "42",
			Says:    "The jobs that it needs, by id. A step names other steps",
			Usage:   "the id or key of a `job` that it needs; repeatable",
			Without: notOf("", madeNow),
		},
		{
			Name: "after_keys", Call: true, Kind: Words, Example: "scan.2026-11-22",
			Says:    "The jobs that it needs, by key",
			Without: map[Face]string{Command: "--after takes ids and keys", File: ownParts, Child: madeNow},
		},
		{
			Name: "wanted", Call: true, Kind: Words, Default: "succeeded", Example: "succeeded",
			Says:    "The outcomes that those jobs must have: succeeded, failed, cancelled, quarantined",
			Usage:   "the `outcome` that the jobs of --after must have: succeeded, failed, cancelled, quarantined; repeatable (default: succeeded)",
			Without: notOf(ownWanted, madeNow),
		},
		{
			Name: "once", Call: true, Kind: Word, Choices: []string{"ever", "open", "waiting"}, Default: "ever",
			Says:    "How long the key is taken: open until its job has ended, waiting until it has begun. One of",
			Usage:   "for how `long` the key is taken: ever (default), open (until its job has ended), waiting (until it has begun)",
			Without: notOf(ownNext, madeOnce),
		},
		{
			Name: "per", Call: true, Kind: Long, Example: "24h",
			Says:    "The `period` for which there is one job with the key. Days begin at midnight UTC",
			Without: notOf(ownNext, madeOnce),
		},
		{
			Name: "replace", Call: true, Kind: Flag,
			Says:    "Whether a job that waits under the key gets this content and time, in place of another job",
			Usage:   "give a job that waits under the key this content and time, in place of another job",
			Without: notOf(ownNext, madeOnce),
		},
		{
			Name: "not_after", Kind: Time, Example: "2026-12-24T18:00:00Z",
			Says:    "The time at which the job is cancelled if it has not begun",
			Usage:   "cancel it if it has not begun by this `time`: 2026-12-24T18:00:00Z, or +10m from now",
			Without: notOf(ownTime, ""),
		},
		{
			Name: "batch", Call: true, Kind: ID, Least: 1, Example: "42",
			Says:    "The id of the job's batch",
			Usage:   "the id or key of its `batch`: bellhop batch --help",
			Without: notOf(ownBatch, madeAsOne),
		},
	},
}

// ChildJob is a job that a run makes: the fields of a submission that it may have.
var ChildJob = Object{
	Name: "A child job", Part: "child", Faces: []Face{Child},
	Fields: slices.DeleteFunc(slices.Clone(Submission.Fields), func(f Field) bool { return f.Without[Child] != "" }),
}
