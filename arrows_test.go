// Package bellhop_test looks at the house as a whole: who may import whom.
package bellhop_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// arrow says what the packages of a room may import of this module.
type arrow struct {
	room string // a package and what is below it
	may  []string
	why  string
}

// The packages of the program that its families share.
const (
	cli   = "cmd/bellhop/internal/cli"
	fleet = "cmd/bellhop/internal/fleet"
	serve = "cmd/bellhop/internal/serve"
)

// everything that an instance is made of.
var everything = []string{cli, fleet, "actors", "agents", "config", "courier", "fossology", "instance", "lookout", "machine", "observability", "pgdev", "report", "scheduler", "seal", "sql", "triggers", "web"}

// families have the commands.
var families = []string{cli, serve, "cmd/bellhop/internal/agentkit", "cmd/bellhop/internal/attach", "cmd/bellhop/internal/change", "cmd/bellhop/internal/demo", "cmd/bellhop/internal/dev",
	"cmd/bellhop/internal/doctor", "cmd/bellhop/internal/locks", "cmd/bellhop/internal/look", "cmd/bellhop/internal/mcp", "cmd/bellhop/internal/measure", "cmd/bellhop/internal/rjm", "cmd/bellhop/internal/setup", "cmd/bellhop/internal/torture", "cmd/bellhop/internal/workflow"}

// ground is what the actors stand on: they do not know each other, and meet in its messages.
var ground = []string{"actors/lasting", "actors/message", "actors/port", "actors/tree", "scheduler"}

// arrows has every room. The longest name that fits counts.
var arrows = []arrow{
	{"scheduler", nil, "decisions are values in, values out: whoever reads one needs to read nothing else"},
	{"scheduler/intake", []string{"scheduler"}, "what is claimed next is a decision like the others: it knows their values, and they do not know it"},
	{"scheduler/position", []string{"scheduler"}, "the same, of where in the queue a claim looks"},
	{"scheduler/lock", []string{"scheduler/fair"},
		"locks are a policy by themselves: it knows names, numbers and turns of keys, and no job of the queue"},
	{"scheduler/grammar", nil, "the shape of what is written is a value: every face reads it, and it knows none of them"},
	{"scheduler/words", nil, "values written for people: commands and pages write them in the same way"},
	{"scheduler/sketch", nil, "how long things took, in little room: whoever measures may keep it so"},
	{"scheduler/history", []string{"scheduler", "scheduler/sketch"}, "what was done, by type and minute, counted of the core's values"},
	{"scheduler/cron", nil, "when a slot is, anybody can ask who has a schedule and a time"},
	{"scheduler/workflow", []string{"scheduler/cron", "scheduler/grammar", "scheduler/lock"},
		"definitions and slots are values: what makes jobs of them is the database"},
	{"scheduler/engine", nil, "what is done about a job that runs elsewhere is a decision by itself: it knows tags, and no job of the queue"},
	{"scheduler/notice", nil, "who is told what of a run: words and rules, and no way to send them"},
	{"actors", []string{"actors", "scheduler"}, "the tree reaches the world through the interfaces it declares; what implements them is exchangeable"},
	{"actors/message", []string{"scheduler"}, "messages are values: whoever sends or gets one needs to know nothing of the other"},
	{"actors/tree", []string{"actors/message", "scheduler"}, "how actors reach and start each other: it knows roles, and none of the actors"},
	{"actors/lasting", []string{"actors/message", "actors/port", "actors/tree", "scheduler"},
		"what outlives an actor knows none of them: it is written by one, and read by others"},
	{"actors/port", []string{"scheduler"}, "interfaces and values: what implements them needs to know nothing of the tree"},
	{"actors/upkeep", ground, "what is done beside the hot path knows no actor on it"},
	{"actors/wake", ground, "how this instance hears of work, and nothing of what becomes of it"},
	{"actors/ledger", ground, "the only writer of outcomes knows the outbox, and none of those that owe"},
	{"actors/member", ground, "whether this instance lives, and others do, and nothing of what they run"},
	{"actors/msq", ground, "a query and its items: it deals to hosts what the dispatcher grants, and knows neither"},
	{"actors/dispatch", ground, "it claims and deals, and meets hosts, queries and the ledger in messages"},
	{"actors/host", ground, "slots and processes: what is dealt to it, the dispatcher says in messages"},
	{"actors/engine", ground, "a host whose jobs run elsewhere knows no children"},
	{"actors/memory", []string{"actors/port", "scheduler"}, "the same ports, kept in memory: for serve -I, and for tests of the tree"},
	{"sql", nil, "text only"},
	{"sql/dial", nil, "every connection is made here, and what makes one knows nothing of what is done over it"},
	{"sql/store", []string{"scheduler", "sql"}, "turns the core's values into statements, and knows nobody who uses it"},
	{"seal", nil, "envelopes and keys: whoever seals or opens a text knows of jobs what it likes"},
	{"sql/view", []string{"scheduler", "seal", "sql", "sql/dial"}, "what faces ask of the queue and order of it: it knows none of the tree's desks"},
	{"sql/migrate", nil, "takes its files as an argument, so that it can be tested with others"},
	{"sql/migrate/migrated", []string{"pgdev/pgtest", "sql", "triggers"}, "a database with our schema, for tests"},
	{"triggers", []string{"scheduler", "sql/dial"}, "the bell decides nothing and knows nobody who hears it"},
	{"agents", []string{"scheduler", "agents/guard"}, "processes know lines and events, not who schedules them"},
	{"agents/guard", nil, "one runs beside every child: it must be small, and start before everything else"},
	{"agents/examples", []string{"agents/examples"}, "an example shows what anybody can write: it has no way in that others lack"},
	{"config", []string{"scheduler"}, "a file becomes values; what is done with them is for cmd to say"},
	{"courier", []string{"scheduler"}, "what is to be told becomes mail and posts; who is told, and what is kept of it, it is handed"},
	{"observability", nil, "anybody may come to need it, so it needs nobody"},
	{"observability/traces", []string{"observability", "scheduler"}, "spans are made of the core's values, under the names of the house"},
	{"observability/metrics", []string{"observability", "scheduler"}, "the same of metrics"},
	{"fossology", nil, "words become calls of the desk that it declares; what does them is for cmd to say"},
	{"lookout", []string{"scheduler"}, "it sees files, topics and channels, and what comes of that is for others to say"},
	{"web", []string{"scheduler"}, "pages show values"},
	{"verb", []string{"scheduler", "sql/view"}, "what can be done is one table: each face reads it, and it knows none of them"},
	{"web/page", []string{"config", "report", "scheduler", "sql/view", "verb", "web"}, "a page is rows, and what several of them say together; what a rule may be, config knows"},
	{"instance", []string{"actors", "scheduler", "seal", "sql/store", "triggers"}, "what stands between a tree and its desks, in serve and inside an app"},
	{"machine", nil, "which machine and which process this is, anybody may have to say"},
	{"report", []string{"scheduler", "sql/view"}, "what several rows say together, for commands and for the API alike"},
	{"web/signin", []string{"scheduler", "web"}, "it identifies people for the door, and knows no job"},
	{"web/operation", []string{"sql/view"}, "it carries out what pages and the API order alike, and knows neither"},
	{"web/api", []string{"client", "config", "report", "scheduler", "sql/view", "verb", "web"}, "what is asked over HTTP is asked of the store, in the name of whoever asks; what its errors mean, the client knows"},
	{"pgdev", nil, "a PostgreSQL is one whatever it is for; tests of every room use it"},
	{"pgdev/pgtest", []string{"pgdev"}, "and tests take it from here"},
	{"pgdev/wire", nil, "a line to a server with faults: tests and torture put it before a PostgreSQL"},
	{"client", []string{"scheduler", "seal", "sql"}, "a face of sql/view for apps: what it asks, they may ask; it schedules nothing and runs nothing"},
	{"client/agent", nil, "what is linked into an agent: it knows its protocol, and no database"},
	{"client/worker", []string{"actors", "client/agent", "instance", "machine", "observability/traces", "scheduler", "seal", "sql", "triggers"},
		"an instance inside an app: the one other place that sees a port and what implements it"},
	{"client/clienttest", []string{"client", "sql", "triggers"}, "tests of apps: what puts the schema in place is there too"},
	{"cmd/bellhop", append(families, "pgdev", "scheduler", "sql/view"), "the list of commands, and the words that TAB gives"},
	{"cmd/bellhop/internal/cli", []string{"client", "config", "observability", "pgdev", "scheduler", "sql", "triggers", "verb", "web"},
		"what all commands share knows none of them"},
	{"cmd/bellhop/internal/clitest", []string{"sql/migrate/migrated"}, "for tests of every family, cli's own too"},
	{"cmd/bellhop/internal/fleet", []string{"agents", "config", "scheduler"}, "hosts and agents as a launcher takes them, for whoever starts one"},
	{"cmd/bellhop/internal/serve", everything, "the only place that sees a port and what implements it"},
	{"cmd/bellhop/internal/change", []string{cli, "report", "scheduler", "seal", "sql/view", "verb"}, "a family knows the queue and how to talk, and no other family"},
	{"cmd/bellhop/internal/look", []string{cli, "machine", "report", "scheduler", "scheduler/sketch", "sql/view"}, "the same, and it changes nothing"},
	{"cmd/bellhop/internal/mcp", []string{cli, "scheduler", "sql/view", "verb"}, "programs get the verbs and the commands that look: it is handed what runs a command"},
	{"cmd/bellhop/internal/measure", []string{cli, "client/agent", "client/worker", "sql"}, "it measures as an app would: an instance of handlers"},
	{"cmd/bellhop/internal/torture", []string{cli, "client/agent", "client/worker", "pgdev"},
		"it does harm to processes and servers, and looks at SQL and files alone; one of its witnesses is an app"},
	{"cmd/bellhop/internal/attach", []string{cli, "sql/view"}, "the same, of tables"},
	{"cmd/bellhop/internal/locks", []string{cli, "scheduler", "sql/view", "verb"}, "filters are read as the policy reads them before they are written"},
	{"cmd/bellhop/internal/workflow", []string{cli, "config", "scheduler", "sql/view", "verb"}, "a definition is read as configuration is, and written by the queue"},
	{"cmd/bellhop/internal/agentkit", []string{cli, "agents", "config", "scheduler"}, "an agent is tried without a queue; config knows what a type may be called"},
	{"cmd/bellhop/internal/setup", []string{cli, fleet, "agents", "config", "scheduler", "seal", "sql"}, "what is set up is the schema, the service and the configuration"},
	{"cmd/bellhop/internal/doctor", []string{cli, fleet, "agents", "config", "report", "seal", "sql", "triggers"}, "it looks at everything, and starts no instance"},
	{"cmd/bellhop/internal/demo", []string{cli, serve, "agents/examples", "config", "observability", "pgdev", "scheduler"}, "a demo is an instance with something to do"},
	{"cmd/bellhop/internal/dev", []string{cli, serve, "config", "observability", "pgdev", "scheduler", "sql/view"}, "the same with more to look at"},
	{"cmd/bellhop/internal/rjm", []string{cli, serve, "cmd/bellhop/internal/change", "cmd/bellhop/internal/look", "config", "machine", "scheduler", "sql"},
		"its commands are faces of ours: it is the one family that knows others"},
	{"compose", nil, "an app and an agent that anybody could write: they know SQL and lines of JSON"},
	{"e2e", nil, "the built binary from outside"},
	{"examples", nil, "an app needs nothing but SQL: it takes nothing of this house"},
	{"examples/order/client", []string{"client"}, "the same with the client, which is there for apps"},
	{"examples/everyday", []string{"client"}, "what an app does every day, in under 40 lines"},
	{"examples/parcel/river", []string{"client", "client/agent", "client/worker"}, "an order in the way of River"},
	{"examples/order/agent", []string{"client/agent"}, "and its agent, with what is there for agents"},
	{"simulation", nil, "tests only: whole instances on a model of the database, in virtual time"},
	{"scripts", nil, "tools of the makefile"},
	{"scripts/pg-download", []string{"pgdev"}, "what --pg-download does, before there is a program that has the flag"},
}

// outside says who may use what of others. A module that is not here is free.
var outside = []struct {
	module string
	rooms  []string
	why    string
}{
	{"github.com/asynkron/protoactor-go", []string{"actors"}, "its types do not leave the tree, so that the rest can be read without knowing it"},
	{"database/sql", nil, "pgx only: batches, COPY, cursors and LISTEN have no place in database/sql"},
	{"github.com/jackc/pgxlisten", []string{"triggers"}, "one place knows its traps"},
	{"github.com/spf13/cobra", []string{"cmd"}, "flags are for whoever types"},
	{"github.com/coreos/go-oidc", []string{"web/signin"}, "one place believes what a provider says of people"},
	{"golang.org/x/oauth2", []string{"web/signin"}, "one place asks a provider for tokens"},
	{"github.com/danielgtaylor/huma", []string{"web/api"}, "one place makes openapi.json of types"},
	{"github.com/modelcontextprotocol/go-sdk", []string{"cmd/bellhop/internal/mcp"}, "one place speaks with assistants"},
	{"github.com/wneessen/go-mail", []string{"courier"}, "one place knows how mail is written and sent"},
	{"github.com/goccy/go-yaml", []string{"config"}, "one place knows how the file is written"},
	{"github.com/jackc/pgx", []string{"sql", "triggers", "pgdev", "client", "cmd", "web/api", "web/operation", "web/page", "agents/examples", "examples", "compose"}, "SQL stays at its edge; the tree and the core speak of jobs"},
	{"github.com/coreos/go-systemd", []string{"cmd"}, "only a service has a manager"},
	{"github.com/twmb/franz-go", []string{"lookout"}, "one place speaks with Kafka"},
	{"github.com/xi2/xz", []string{"pgdev"}, "PostgreSQL's programs are packed so"},
	{"go.opentelemetry.io/otel", []string{"observability", "compose"}, "the tree and the core tell what happens in values; that somebody makes spans and metrics of them is not theirs to know; the shop in compose/ is an app, and has spans of its own"},
	{"go.opentelemetry.io/proto", nil, "what is on the wire, tests alone look at"},
	{"aead.dev/minisign", []string{"cmd"}, "one command looks at signatures"},
	{"golang.org/x/sys", []string{"agents", "machine", "pgdev", "cmd"}, "what only the system can do is done at the edges"},
}

// pkg is what the go command says about a package of this module or
// one that these are built from.
type pkg struct {
	ImportPath string
	Standard   bool
	Dir        string
	GoFiles    []string
	Imports    []string
	Deps       []string
}

var packages = sync.OnceValues(func() (map[string]pkg, error) {
	cmd := exec.Command("go", "list", "-deps", "-json=ImportPath,Standard,Dir,GoFiles,Imports,Deps", "./...")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, errors.New(err.Error() + ": " + stderr.String())
	}
	all := map[string]pkg{}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := d.Decode(&p); err == io.EOF {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		all[p.ImportPath] = p
	}
})

// rooms lists this module's packages without the module's name.
func rooms(t *testing.T) map[string]pkg {
	t.Helper()
	all, err := packages()
	if err != nil {
		t.Fatal(err)
	}
	ours := map[string]pkg{}
	for path, p := range all {
		if room, is := strings.CutPrefix(path, "bellhop/"); is {
			ours[room] = p
		}
	}
	return ours
}

// within reports whether a package is in a room: the room itself, or below it.
func within(path, room string) bool { return path == room || strings.HasPrefix(path, room+"/") }

func arrowOf(room string) (found arrow) {
	for _, a := range arrows {
		if within(room, a.room) && len(a.room) > len(found.room) {
			found = a
		}
	}
	return found
}

func TestArrows_WithinTheHouse(t *testing.T) {
	t.Parallel()
	for room, p := range rooms(t) {
		a := arrowOf(room)
		if a.room == "" {
			t.Errorf("%s: no arrow says what it may import: give it a row, with the reason", room)
		}
		for _, path := range p.Imports {
			other, ours := strings.CutPrefix(path, "bellhop/")
			if ours && other != room && !slices.ContainsFunc(a.may, func(m string) bool { return within(other, m) }) {
				t.Errorf("%s imports %s, and may import %q only: %s", room, other, a.may, a.why)
			}
		}
	}
}

// What to claim next is asked by the dispatcher alone: others see its values.
func TestArrows_OnlyTheTreeAsksIntake(t *testing.T) {
	t.Parallel()
	for room, p := range rooms(t) {
		if !within(room, "actors") && slices.Contains(p.Imports, "bellhop/scheduler/intake") {
			t.Errorf("%s imports scheduler/intake, which is for actors", room)
		}
	}
}

func TestArrows_OutOfTheHouse(t *testing.T) {
	t.Parallel()
	for room, p := range rooms(t) {
		for _, path := range p.Imports {
			for _, o := range outside {
				if within(path, o.module) && !slices.ContainsFunc(o.rooms, func(r string) bool { return within(room, r) }) {
					t.Errorf("%s imports %s, which is for %q: %s", room, path, o.rooms, o.why)
				}
			}
		}
	}
}

// pauses is a library of pure series, which is built from the standard library alone.
const pauses = "github.com/cenkalti/backoff/v4"

// What these are built from, all the way down.
func TestArrows_AllTheWayDown(t *testing.T) {
	t.Parallel()
	all, err := packages()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		room    string
		besides []string
		why     string
	}{
		{"scheduler/intake", []string{"bellhop/scheduler", pauses}, "the same of what is claimed next"},
		{"scheduler/position", []string{"bellhop/scheduler", pauses}, "the same of where a claim looks"},
		{"scheduler/lock", []string{"bellhop/scheduler/fair"}, "the policy of locks can be read alone"},
		{"scheduler", []string{pauses}, "the core can be read, tested and trusted alone"},
		{"agents/guard", []string{"golang.org/x/sys"}, "what is linked in is started with every child"},
		{"sql", nil, "text only"},
	} {
		for _, dep := range all["bellhop/"+c.room].Deps {
			if !all[dep].Standard && !slices.ContainsFunc(c.besides, func(m string) bool { return within(dep, m) }) {
				t.Errorf("%s is built from %s, and may use the standard library and %q only: %s", c.room, dep, c.besides, c.why)
			}
		}
	}
	if deps := all["bellhop/cmd/bellhop"].Deps; slices.Contains(deps, "testing") {
		t.Error("the binary is built from package testing: something of pgdev/pgtest has got in")
	}
}

// forbidden to the core, with the reason.
var forbidden = map[string]string{
	"math/rand": "luck is an argument", "math/rand/v2": "luck is an argument", "crypto/rand": "luck is an argument",
	"os": "no I/O", "net": "no I/O", "io": "no I/O", "log": "no I/O", "log/slog": "no I/O", "syscall": "no I/O",
	"context": "nothing here can be waited for", "sync": "there is one goroutine", "sync/atomic": "there is one goroutine",
	"runtime": "there is one goroutine",
}

// clocks are the functions of package time that read the clock or wait for it.
var clocks = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"}

// Law: scheduler/ reads no clock, rolls no dice and starts no goroutine.
func TestScheduler_IsPure(t *testing.T) {
	t.Parallel()
	core, intake, lock := rooms(t)["scheduler"], rooms(t)["scheduler/intake"], rooms(t)["scheduler/lock"]
	if len(core.GoFiles) < 10 || len(intake.GoFiles) < 7 || len(lock.GoFiles) < 7 {
		t.Fatalf("only %d, %d and %d files", len(core.GoFiles), len(intake.GoFiles), len(lock.GoFiles))
	}
	var names []string
	for _, p := range []pkg{core, intake, lock} {
		for _, name := range p.GoFiles {
			names = append(names, filepath.Join(p.Dir, name))
		}
	}
	for _, name := range names {
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range file.Imports {
			path, _ := strconv.Unquote(i.Path.Value)
			if why := forbidden[path]; why != "" || i.Name != nil {
				t.Errorf("%s imports %s under %v: %s", name, path, i.Name, why)
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt, *ast.SelectStmt, *ast.SendStmt, *ast.ChanType:
				t.Errorf("%s: goroutines and channels are for actors/", files.Position(n.Pos()))
			case *ast.SelectorExpr:
				if x, ok := n.X.(*ast.Ident); ok && x.Name == "time" && slices.Contains(clocks, n.Sel.Name) {
					t.Errorf("%s: time.%s: the time is an argument", files.Position(n.Pos()), n.Sel.Name)
				}
			}
			return true
		})
	}
}
