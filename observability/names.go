package observability

import semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

// Names of spans. A type's name follows where the comment says so.
const (
	// SpanSend is a job's submission, at the moment of its INSERT; the type follows. Its parent is the app's span.
	SpanSend = "send"
	// SpanProcess is one attempt at a job, from when it could begin until it is settled; the type follows.
	SpanProcess = "process"
	// SpanWait is the time from when the attempt could begin until an instance asked for it.
	SpanWait = "wait"
	// SpanClaim is the statement that took the job.
	SpanClaim = "claim"
	// SpanSpawn is a child that came up because the job wanted one, until its first OK; the type follows.
	SpanSpawn = "spawn"
	// SpanRun is the time for which the agent had the job. The agent's own spans are below it.
	SpanRun = "agent run"
	// SpanExpand is in a query's job what SpanRun is in another: its rows are read and dealt as items; the type follows.
	SpanExpand = "expand"
	// SpanItem is one item in an agent's hands, where observability.item_spans asks for it; the type follows.
	SpanItem = "item"
	// SpanSettle is the time from the agent's answer until the outcome is committed.
	SpanSettle = "settle"
)

// Attributes of spans. A job's arguments, variables and query are in none of
// them, nor is what an agent said.
const (
	// AttrSystem is "bellhop": what carries the message.
	AttrSystem = string(semconv.MessagingSystemKey)
	// AttrDestination is the job's type.
	AttrDestination = string(semconv.MessagingDestinationNameKey)
	// AttrMessage is the job's id.
	AttrMessage = string(semconv.MessagingMessageIDKey)
	// AttrOperation is what is done: send, process, claim, settle.
	AttrOperation = string(semconv.MessagingOperationNameKey)
	// AttrOperationType is the same in the words of the conventions: send, receive, process, settle.
	AttrOperationType = string(semconv.MessagingOperationTypeKey)
	// AttrError is how the attempt failed: failed, died, timed_out, cancelled, lost.
	AttrError = string(semconv.ErrorTypeKey)
	// AttrAttempt is the try, from 1.
	AttrAttempt = "bellhop.job.attempt"
	// AttrFence is the number of the claim.
	AttrFence = "bellhop.job.fence"
	// AttrState is the state that the attempt left the job in.
	AttrState = "bellhop.job.state"
	// AttrOutcome is what became of the attempt, in the words of the state machine.
	AttrOutcome = "bellhop.job.outcome"
	// AttrExitCode is the agent's.
	AttrExitCode = "bellhop.job.exit_code"
	// AttrItem is the number of an item in its job.
	AttrItem = "bellhop.job.item"
	// AttrItemsTotal is how many items the query had, once its last row was read.
	AttrItemsTotal = "bellhop.job.items_total"
	// AttrItemsDone is how many of them were done.
	AttrItemsDone = "bellhop.job.items_done"
	// AttrItemsFailed is how many of them failed for good.
	AttrItemsFailed = "bellhop.job.items_failed"
	// AttrChild is the child that had the job.
	AttrChild = "bellhop.child"
	// AttrHost is the host that the child was on, by its name in the configuration.
	AttrHost = "bellhop.host"
	// AttrLink says why a span is linked: needs (a job that this one needed), retry (the attempt before).
	AttrLink = "bellhop.link"
)

// System is the value of AttrSystem, and the name of the service unless OTEL_SERVICE_NAME says another.
const System = "bellhop"

// Metric is one that /metrics shows, under the name that Prometheus gives it:
// dots are underscores, the unit follows, and _total what is counted.
type Metric struct {
	Name, Unit, About string
	Labels            []string
}

// Labels of metrics. Their values are few: types, states and outcomes.
const (
	LabelType     = "type"    // of jobs
	LabelState    = "state"   // of jobs, or of children
	LabelOutcome  = "outcome" // of an attempt
	LabelAhead    = "ahead"   // how far a forecast looked
	LabelWhat     = "what"    // claim or settle
	LabelCode     = "code"    // of a finding
	LabelKind     = "kind"    // of a sensor
	LabelWorkflow = "workflow"
	LabelVersion  = "version" // of this program
	LabelCommit   = "commit"  // that it was built from; empty where that is not known
	LabelGo       = "goversion"
)

// The metrics. Times are seconds. What concerns the queue is the same on every
// instance of a database; the rest is each instance's own.
var (
	Jobs = Metric{
		"bellhop.jobs",
		"{job}",
		"Unfinished jobs, by state and type, each counted up to 100,000. Of the whole queue.",
		[]string{LabelState, LabelType},
	}
	OldestReady = Metric{
		"bellhop.job.oldest.age",
		"s",
		"How long ago the oldest ready job of a type could have begun, among jobs that have neither run_on nor locks. Of the whole queue.",
		[]string{LabelType},
	}
	JobWait = Metric{
		"bellhop.job.wait.duration",
		"s",
		"From when a job could begin (its submission, its run_at, or the end of a retry's pause) until an instance had it.",
		[]string{LabelType},
	}
	JobPickup = Metric{
		"bellhop.job.pickup.duration",
		"s",
		"From when a job could begin until an agent had it.",
		[]string{LabelType},
	}
	JobRun = Metric{
		"bellhop.job.run.duration",
		"s",
		"How long an agent had a job; for a query, the time during which its items were given to agents.",
		[]string{LabelType, LabelOutcome},
	}
	ForecastError = Metric{
		"bellhop.forecast.error",
		"s",
		"Difference between the forecast and the actual start of jobs with locks, by how far ahead the forecast was (10s, 1m, 10m, 1h, longer).",
		[]string{LabelAhead},
	}
	Promises = Metric{
		"bellhop.promises",
		"{promise}",
		"What became of promises (submit --by): kept, missed, void (the job was cancelled or deleted), in_danger, safe (again).",
		[]string{LabelOutcome},
	}
	Children    = Metric{"bellhop.children", "{child}", "Children by state and type.", []string{LabelState, LabelType}}
	ChildStarts = Metric{
		"bellhop.child.starts",
		"{child}",
		"Children that started, first starts included.",
		[]string{LabelType},
	}
	ChildDeaths = Metric{
		"bellhop.child.deaths",
		"{child}",
		"Children that died without an order to end.",
		[]string{LabelType},
	}
	FencesLost = Metric{
		"bellhop.fences.lost",
		"{job}",
		"Outcomes that were not recorded, because the job was no longer this instance's.",
		nil,
	}
	BatchSize = Metric{
		"bellhop.batch.size",
		"{job}",
		"Jobs in one claim (claims that found none are left out), and outcomes in one write.",
		[]string{LabelWhat},
	}
	BellAge      = Metric{"bellhop.bell.heartbeat.age", "s", "Time since this instance last received its own NOTIFY.", nil}
	BellConnects = Metric{
		"bellhop.bell.connects",
		"{connection}",
		"How often the listener has connected, the first time included.",
		nil,
	}
	NotifyUsage = Metric{
		"bellhop.notify.queue.usage",
		"1",
		"How full the server's notification queue is, from 0 to 1 (pg_notification_queue_usage).",
		nil,
	}
	Findings = Metric{
		"bellhop.findings",
		"{finding}",
		"Findings that need a fix, by code, as bellhop doctor, the System page and /api/v1/findings show them. Of the whole queue and the server.",
		[]string{LabelCode},
	}
	GateState = Metric{
		"bellhop.gate.state",
		"{state}",
		"1 for the gate's current state: awake, asking, asleep.",
		[]string{LabelState},
	}
	Quarantined = Metric{
		"bellhop.jobs.quarantined",
		"{job}",
		"Jobs that were quarantined, because their agents died again and again.",
		[]string{LabelType},
	}
	SensorFailures = Metric{
		"bellhop.sensor.failures",
		"{failure}",
		"How often a sensor could not read its files, topic or channel, or could not store an event.",
		[]string{LabelKind},
	}
	SensorLag = Metric{
		"bellhop.sensor.lag",
		"{message}",
		"How many messages of its topic a sensor of this instance has not read yet.",
		[]string{LabelWorkflow},
	}
	DatabaseUp = Metric{
		"bellhop.database.up",
		"{database}",
		"1 if this instance's last look at the queue was answered, else 0.",
		nil,
	}
	Build = Metric{
		"bellhop.build.info",
		"{build}",
		"1; the labels describe the running program.",
		[]string{LabelVersion, LabelCommit, LabelGo},
	}
	Dropped = Metric{
		"bellhop.traces.dropped",
		"{item}",
		"Jobs and items without spans, because too many waited (what=jobs), and spans that the collector did not take (what=spans).",
		[]string{LabelWhat},
	}
)

// Metrics lists them.
var Metrics = []Metric{
	Jobs,
	OldestReady,
	JobWait,
	JobPickup,
	JobRun,
	ForecastError,
	Children,
	ChildStarts,
	ChildDeaths,
	FencesLost,
	BatchSize,
	BellAge,
	BellConnects,
	NotifyUsage,
	Findings,
	GateState,
	Quarantined,
	SensorFailures,
	SensorLag,
	Promises,
	DatabaseUp,
	Build,
	Dropped,
}
