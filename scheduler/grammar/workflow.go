package grammar

import "regexp"

// Names of workflows and steps, which stand in keys and tables.
const (
	nameMost  = 100
	nameWrong = "%s cannot be a name"
	nameHint  = "letters, digits, . _ and -, at most 100"
)

var namePattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

// ends are the states in which runs end.
var ends = []string{"succeeded", "failed", "skipped"}

const endWrong = "no run ends as %s"

// Workflow is the definition of a workflow, in a file or as JSON.
var Workflow = Object{
	Name:  "A workflow",
	Says:  "A document of a file for `bellhop workflow apply`, or the JSON of `bellhop.workflow_apply(…)` and `PUT /api/v1/workflows/{name}`",
	Part:  "",
	Faces: []Face{File},
	Fields: []Field{
		{
			Name: "workflow", Kind: Word, Needed: true,
			Pattern: namePattern, Most: nameMost, Wrong: nameWrong, Hint: nameHint,
			Says: "The name, which no other workflow has",
		},
		{Name: "project", Kind: Word, Says: "The project that it belongs to"},
		{Name: "active", Kind: Flag, Default: "true", Says: "Whether its sensor starts it"},
		{
			Name: "sensor", Kind: Part,
			Says: "The sensor, which starts it", Default: "nothing: it is started by hand or by an event",
		},
		{
			Name: "parameters", Kind: Pairs, Example: "parameters: {DAY: today}",
			Says: "Names and default values, which stand for ${NAME} in the steps",
		},
		{
			Name: "steps", Kind: List, Needed: true, Example: `- {name: fetch, type: sh, args: "…"}`,
			Says: "The steps, each a job of every run",
		},
		{
			Name: "notify", Kind: List, Example: "- {when: [failed], mail: [ops@example.org]}",
			Says: "Notification rules for ended runs",
		},
	},
}

// Step is a job of each run. It has the fields of a submission, but for those that say Without[File].
var Step = Object{
	Name:   "A step",
	Says:   "An element of `steps`. A template has the same fields but `name` and `after`",
	Part:   "step",
	Faces:  []Face{File},
	Fields: stepFields(),
}

// stepName and stepAfter are the fields that a step has of its own: an app's job has a key, and needs jobs by id.
var (
	stepName = Field{
		Name: "name", Kind: Word, Needed: true,
		Pattern: namePattern, Most: nameMost, Wrong: nameWrong, Hint: nameHint,
		Says: "The name, which no other step of the workflow has",
	}
	stepAfter = Field{
		Name: "after", Kind: Words, One: true, Example: "[fetch]",
		Default: "the step before it, if no step of the workflow has after",
		Says:    "The steps that it needs",
	}
)

// ofStep are the fields of a submission that a step has with other words or bounds.
var ofStep = map[string]func(*Field){
	"type":   func(f *Field) { f.MostBytes = 0 },
	"run_on": func(f *Field) { f.MostBytes = 0 }, // a parameter may stand for more than it makes
	"share":  func(f *Field) { f.Most = 0 },      // the same
	"vars":   func(f *Field) { f.Example = "vars: {USERID: 7}" },
	"locks":  func(f *Field) { f.Example = `["customer:7=exclusive"]` },
	"on_failure": func(f *Field) {
		f.Choices, f.Says = []string{"fail", "run"}, "Its reaction if a step that it needs fails"
	},
}

// stepFields are a step's own, and those of a submission as a step has them. after stands behind the work.
func stepFields() []Field {
	list := []Field{stepName}
	for _, f := range Submission.Fields {
		if f.Without[File] != "" || f.Name == stepAfter.Name {
			continue
		}
		if change := ofStep[f.Name]; change != nil {
			change(&f)
		}
		f.Without, f.Usage = nil, ""
		list = append(list, f)
		if f.Name == "msq" {
			list = append(list, stepAfter)
		}
	}
	return list
}

// clocked are the kinds of sensors whose starts at_most bounds: all but cron, which has times of its own.
var clocked = []string{"every", "workflow", "table", "notify", "http", "file", "kafka"}

// Sensor says what starts a workflow. It has one of the fields cron, every, workflow, table, notify, http, file, kafka.
var Sensor = Object{
	Name:  "A sensor",
	Says:  "The value of `sensor`. It has one of `cron`, `every`, `workflow`, `table`, `notify`, `http`, `file` and `kafka`",
	Part:  "sensor",
	Faces: []Face{File},
	Fields: []Field{
		{
			Name: "cron", Kind: Word, Example: `"0 2 * * *"`, Kinds: []string{"cron"},
			Says: "A schedule of five fields, or six with seconds first",
		},
		{
			Name: "zone", Kind: Word, Default: "UTC", Example: "Europe/Prague", Kinds: []string{"cron"},
			Says: "The time zone of cron",
		},
		{
			Name: "catch_up", Kind: Word, Choices: []string{"one", "all", "none"}, Default: "one",
			Kinds: []string{"cron", "every", "kafka"},
			Says:  "Which missed slots run late, of cron, every and kafka",
		},
		{
			Name: "queue", Kind: Word, Choices: []string{"all", "one"}, Default: "all for events that fill a parameter",
			Says: "Which events wait while a run is open",
		},
		{
			Name: "every", Kind: Long, Example: "10m", Kinds: []string{"every"},
			Says: "The time between two starts, in whole seconds",
		},
		{
			Name: "after_finish", Kind: Flag, Kinds: []string{"every"},
			Says: "Whether every counts from the end of the last run",
		},
		{
			Name: "at_most", Kind: Count, Least: 1, Most: 1000, Example: "8", Kinds: clocked,
			Says: "How many starts there may be in each per",
		},
		{Name: "per", Kind: Long, Example: "1h", Kinds: clocked, Says: "The time for at_most"},
		{
			Name: "workflow", Kind: Word, Example: "nightly", Kinds: []string{"workflow"},
			Pattern: namePattern, Most: nameMost, Wrong: nameWrong, Hint: nameHint,
			Says: "The workflow whose ended runs start this one",
		},
		{
			Name: "when", Kind: Words, One: true, Example: "[succeeded, failed]", Default: "succeeded",
			Choices: ends, Wrong: endWrong, Kinds: []string{"workflow"},
			Says: "The states of those runs",
		},
		{
			Name: "table", Kind: Word, Example: "shop.uploads", Kinds: []string{"table"},
			Pattern: regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_$]*|"[^"]+")([.]([A-Za-z_][A-Za-z0-9_$]*|"[^"]+"))?$`),
			Wrong:   "%s is not a valid name of a table", Hint: "write it like shop.uploads",
			Says: "The table each of whose new rows is an event",
		},
		{
			Name: "event", Kind: Word, Example: "id", Kinds: []string{"table", "notify", "http", "file"},
			Says: "The name of the event: a column of the table, a field of the message, a header of the request; of a file path or version",
		},
		{
			Name: "notify", Kind: Word, MostBytes: 63, Example: "uploads", Kinds: []string{"notify"},
			Says: "The channel of NOTIFY",
		},
		{Name: "http", Kind: Flag, Kinds: []string{"http"}, Says: "Whether clients post events"},
		{
			Name: "file", Kind: Word, Example: "/srv/in/*.csv", Kinds: []string{"file"},
			Says: "A pattern of whole paths",
		},
		{
			Name: "host", Kind: Word, Default: "any instance that sees it", Kinds: []string{"file"},
			Says: "The name of the instance that looks for the file",
		},
		{
			Name: "stable", Kind: Long, Default: "2s", Kinds: []string{"file"},
			Says: "How long a file must stay unchanged before it counts as written",
		},
		{
			Name: "kafka", Kind: Word, Example: "main", Kinds: []string{"kafka"},
			Says: "The name of a cluster in bellhop.yaml",
		},
		{
			Name: "topic", Kind: Word, Most: 249, Example: "uploads", Kinds: []string{"kafka"},
			Pattern: regexp.MustCompile(`^[A-Za-z0-9._-]+$`),
			Wrong:   "topic %s is not a valid name of a topic", Hint: "write it like {kafka: main, topic: uploads}",
			Says: "The topic whose records are events",
		},
		{
			Name: "match", Kind: Pairs, Example: "match: {kind: upload}", Kinds: []string{"kafka"},
			Says: "Fields that a record must have, with these values",
		},
	},
}

// Notice is a notification rule of a workflow.
var Notice = Object{
	Name:  "A notification rule",
	Says:  "An element of `notify`",
	Part:  "notice",
	Faces: []Face{File},
	Fields: []Field{
		{
			Name: "when", Kind: Words, One: true, Example: "[failed]", Default: "failed",
			Choices: ends, Wrong: endWrong,
			Says: "The states of ended runs that it reports",
		},
		{Name: "mail", Kind: Words, One: true, Example: "[ops@example.org]", Says: "Addresses"},
		{
			Name: "webhook", Kind: Word, Example: "https://chat.example.org/hook",
			Says: "The URL to post messages to",
		},
		{
			Name: "command", Kind: Words, Example: "[./told.sh]",
			Says: "A program of the instance's machine, with its arguments",
		},
		{
			Name: "unless_success_within", Kind: Long, Example: "26h",
			Says: "Send a message if no run has succeeded for this long",
		},
	},
}
