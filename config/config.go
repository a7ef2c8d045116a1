// Package config reads and checks bellhop.yaml. It owns the file's keys, their
// defaults and what is said about mistakes: every problem of a file is found in
// one reading, each with file, line and column. It starts nothing, connects to
// nothing and expands no environment variables.
package config

import (
	"errors"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"bellhop/scheduler/lock"
)

// Config is one instance's configuration, with the defaults filled in.
type Config struct {
	File     string // where it was read from, as it was named; empty: the defaults
	Database Database
	Instance Instance
	Limits   Limits
	Hosts    []Host
	// Locate is the user's query for the hosts of a name in run_on ($1) that no
	// host serves; empty: none.
	Locate string
	Agents []Agent
	// Policy says in which order jobs with locks start.
	Policy lock.Policy
	// Production refuses what is only fit for trying things out.
	Production bool
	// CommandsFromDatabase says whether commands stored in the database are
	// obeyed. nil: only with the embedded database.
	CommandsFromDatabase *bool
	Listen               string   // host:port of the web server
	TokenFile            string   // absolute; holds what the web server asks for; empty: BELLHOP_TOKEN, or nothing
	Tokens               []Token  // that others send, with their roles
	AllowedHosts         []string // names under which the web server may be asked, besides its own
	Web                  Web
	Observability        Observability
	FrontEnd             FrontEnd
	Encryption           Encryption
	SMTP                 SMTP
	Notifications        Notifications
	Sensors              Sensors
	Retention            Retention
}

// FrontEnd is where FOSSology's front end finds its scheduler.
type FrontEnd struct {
	Listen string // host:port; empty: nowhere
	// OpenToNetwork allows an address that other machines reach: they may kill jobs and stop the scheduler.
	OpenToNetwork bool
}

// Observability is what is told about jobs besides what the OTEL_ variables of
// the environment say.
type Observability struct {
	ItemSpans int    // each so many-th item of a query's job has a span of its own; 0: none
	TraceURL  string // where people look at a trace; {trace_id} stands for it; empty: nowhere
}

// Database says how PostgreSQL is reached, as URLs or key=value strings.
type Database struct {
	URL       string // empty: from the environment, or the embedded database
	ListenURL string // a direct connection for LISTEN; empty: URL
	MSQURL    string // the login under which the queries of MSQ jobs run; empty: URL
	DBURL     string // the login under which runs what classic agents say with DB:; empty: MSQURL
	AttachURL string // the login that touches attached tables; empty: bellhop_attach without a password, or URL
}

// Instance is how this instance presents itself to the others.
type Instance struct {
	Name      string        // empty: the caller's choice
	Heartbeat time.Duration // between two signs of life
	Lag       time.Duration // silent for longer: taken for dead; at least 3 heartbeats
	Grace     time.Duration // what running work gets on SIGTERM
}

// Limits are the times and counts that children live by.
type Limits struct {
	Deaths       int           // so many deaths of a type on a host within Window: no respawn for as long; 0: never
	Window       time.Duration // of Deaths
	Idle         time.Duration // READY for so long: freed; 0: never
	MinReady     time.Duration // READY for less: not freed to make room
	KillAfter    time.Duration // told to die → SIGKILL
	StartTimeout time.Duration // spawn → first OK
	DBTimeout    time.Duration // of one DB: statement
	DBRows       int           // rows of one answer to DB:; 0: any number
	DBBytes      int           // and its size; 0: any
	Result       int           // what a job gives back, in bytes
	// Of agents of dialect fossology:
	Silence     time.Duration // not a line for so long: killed
	AliveEvery  time.Duration // how often their ALIVE is looked at
	AliveChecks int           // so many looks in a row at ALIVE 0: killed
}

// Load reads and checks a file. The error is a *Problems; a file that cannot be
// read is one too, and errors.Is finds the cause in it.
func Load(path string) (Config, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		p := Problem{File: path, Text: "cannot be read: " + cause(err)}
		if errors.Is(err, fs.ErrNotExist) {
			p = Problem{File: path, Text: "no such file", Hint: "copy bellhop.example.yaml there, or name another with -c"}
		}
		return Config{}, &Problems{List: []Problem{p}, cause: err}
	}
	return Parse(path, text)
}

// cause is an error of the operating system without the path, which is said already.
func cause(err error) string {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err.Error()
	}
	return err.Error()
}

// Parse checks text as if it had been read from the file called name, against
// whose folder relative paths are resolved. The error is a *Problems.
func Parse(name string, text []byte) (Config, error) {
	c := Default()
	c.File = name
	r := newReader(name)
	if root := r.parse(text); root != nil {
		r.file(root, &c)
	}
	if err := r.err(); err != nil {
		return Config{}, err
	}
	return c, nil
}

// Default is the configuration of an empty file: this machine as the only
// host, and no agents.
func Default() Config {
	return Config{
		Instance: Instance{Heartbeat: 2 * time.Second, Lag: 10 * time.Second},
		Limits: Limits{
			Deaths: 5, Window: 5 * time.Minute, Idle: 15 * time.Minute, MinReady: 20 * time.Second,
			KillAfter: 20 * time.Second, StartTimeout: time.Minute,
			DBTimeout: time.Minute, DBRows: 100_000, DBBytes: 64 << 20, Result: 64 << 10,
			Silence: 3 * time.Minute, AliveEvery: 2 * time.Minute, AliveChecks: 5,
		},
		Hosts:  []Host{{Name: "local", Slots: localSlots()}},
		Policy: lock.AnyLevel,
		Listen: "127.0.0.1:8470",

		Notifications: Notifications{GiveUp: 24 * time.Hour},
		Retention:     DefaultRetention(),
	}
}

// localSlots is how many children this machine takes unless the file says
// otherwise: agents wait for disks and databases as much as they compute.
func localSlots() int { return max(4, 2*runtime.NumCPU()) }

// file reads the whole document.
func (r *reader) file(n node, c *Config) {
	given := r.mapping(n, "", r.fileFields(c))
	r.checkTypes(c)
	r.checkResources(c)
	if n := given["agents"]; n != nil {
		r.checkLevels(c, n)
	}
	if c.Production && c.Database.MSQURL == "" {
		r.problem(given["production"], "name a login of their own under database.msq_url",
			"production is true, and database.msq_url is not set: queries of MSQ jobs would run with the scheduler's own rights")
	}
	if c.Database.DBURL != "" || c.Database.MSQURL != "" {
		return
	}
	for _, a := range c.Agents {
		if a.DB {
			r.problem(given["agents"], "name a login of few rights under database.db_url, or msq_url",
				"agent %s has db: true, and there is no login for what it says with DB:", a.Type)
		}
	}
}

func (r *reader) fileFields(c *Config) []field {
	return []field{
		{name: "database", read: func(n node, at string) { r.mapping(n, at, r.databaseFields(&c.Database)) }},
		{name: "instance", read: func(n node, at string) { r.instance(n, at, &c.Instance) }},
		{name: "limits", read: func(n node, at string) { r.mapping(n, at, r.limitsFields(&c.Limits)) }},
		{name: "hosts", read: func(n node, at string) { r.hosts(n, at, &c.Hosts) }},
		{name: "locate", read: func(n node, at string) {
			if s, ok := r.string(n, at); ok {
				c.Locate = s
			}
		}},
		{name: "agents", read: func(n node, at string) { r.agents(n, at, &c.Agents) }},
		{name: "policy", read: func(n node, at string) { r.mapping(n, at, r.policyFields(&c.Policy)) }},
		{name: "production", read: r.flag(&c.Production)},
		{name: "commands_from_database", read: func(n node, at string) {
			var v bool
			c.CommandsFromDatabase = &v
			r.flag(&v)(n, at)
		}},
		{name: "listen", read: r.address(&c.Listen)},
		{name: "token_file", read: r.pathName(&c.TokenFile)},
		{name: "tokens", read: r.tokens(&c.Tokens)},
		{name: "allowed_hosts", read: r.words(&c.AllowedHosts, "[jobs.example.org]", nil)},
		{name: "encryption", read: func(n node, at string) { r.encryption(n, at, &c.Encryption) }},
		{name: "web", read: func(n node, at string) { r.web(n, at, &c.Web) }},
		{name: "observability", read: func(n node, at string) { r.mapping(n, at, r.observabilityFields(&c.Observability)) }},
		{name: "sensors", read: func(n node, at string) { r.sensors(n, at, &c.Sensors) }},
		{name: "fossology", read: func(n node, at string) { r.frontEnd(n, at, &c.FrontEnd) }},
		{name: "smtp", read: func(n node, at string) { r.smtp(n, at, &c.SMTP) }},
		{name: "notifications", read: func(n node, at string) { r.notifications(n, at, &c.Notifications) }},
		{name: "retention", read: func(n node, at string) { r.retention(n, at, &c.Retention) }},
	}
}

func (r *reader) databaseFields(d *Database) []field {
	return []field{
		{name: "url", read: r.databaseURL(&d.URL)},
		{name: "listen_url", read: r.databaseURL(&d.ListenURL)},
		{name: "msq_url", read: r.databaseURL(&d.MSQURL)},
		{name: "db_url", read: r.databaseURL(&d.DBURL)},
		{name: "attach_url", read: r.databaseURL(&d.AttachURL)},
	}
}

func (r *reader) observabilityFields(o *Observability) []field {
	return []field{
		{name: "item_spans", read: r.count(&o.ItemSpans)},
		{name: "trace_url", read: func(n node, at string) {
			s, ok := r.string(n, at)
			if !ok {
				return
			}
			if s != "" && (!strings.HasPrefix(s, "http://") && !strings.HasPrefix(s, "https://") || !strings.Contains(s, "{trace_id}")) {
				r.problem(n, "write http://localhost:16686/trace/{trace_id}", "%s: no address with {trace_id} in it", at)
				return
			}
			o.TraceURL = s
		}},
	}
}

func (r *reader) instance(n node, at string, to *Instance) {
	given := r.mapping(n, at, r.instanceFields(to))
	if to.Heartbeat <= 0 || to.Lag <= 0 || to.Lag/3 >= to.Heartbeat {
		return
	}
	blame := given["lag"]
	if blame == nil {
		blame = given["heartbeat"]
	}
	if blame != nil {
		r.problem(blame, "write lag: "+(3*to.Heartbeat).String()+" or more, or a shorter heartbeat",
			"%s.lag (%s) is less than three heartbeats (%s each): a live instance would be taken for dead", at, to.Lag,
			to.Heartbeat)
	}
}

func (r *reader) instanceFields(to *Instance) []field {
	return []field{
		{name: "name", read: func(n node, at string) {
			if s, ok := r.string(n, at); ok && (s == "" || r.checkHostName(n, at, s)) {
				to.Name = s
			}
		}},
		{name: "heartbeat", read: r.duration(&to.Heartbeat, someTime)},
		{name: "lag", read: r.duration(&to.Lag, someTime)},
		{name: "grace", read: r.duration(&to.Grace, maybeNone)},
	}
}

func (r *reader) limitsFields(to *Limits) []field {
	return []field{
		{name: "deaths", read: r.count(&to.Deaths)},
		{name: "window", read: r.duration(&to.Window, someTime)},
		{name: "idle", read: r.duration(&to.Idle, maybeNone)},
		{name: "min_ready", read: r.duration(&to.MinReady, maybeNone)},
		{name: "kill_after", read: r.duration(&to.KillAfter, someTime)},
		{name: "start_timeout", read: r.duration(&to.StartTimeout, someTime)},
		{name: "db_timeout", read: r.duration(&to.DBTimeout, someTime)},
		{name: "db_rows", read: r.count(&to.DBRows)},
		{name: "db_bytes", read: r.count(&to.DBBytes)},
		{name: "result", read: r.resultLimit(&to.Result)},
		{name: "silence", read: r.duration(&to.Silence, someTime)},
		{name: "alive_every", read: r.duration(&to.AliveEvery, someTime)},
		{name: "alive_checks", read: r.count(&to.AliveChecks)},
	}
}

// resultMost is as long as a line that an agent may write.
const resultMost = 1 << 20

func (r *reader) resultLimit(to *int) func(node, string) {
	return func(n node, at string) {
		if r.count(to)(n, at); *to < 1 || *to > resultMost {
			r.problem(n, "write 65536, or up to 1048576", "%s is %s: it is 1 to %d bytes", at, n.GetToken().Value, resultMost)
		}
	}
}

// checkTypes looks for names of types that no agent has.
func (r *reader) checkTypes(c *Config) {
	var known []string
	for _, a := range c.Agents {
		if a.Type != "" {
			known = append(known, string(a.Type))
		}
	}
	for _, u := range r.typesUsed {
		if !slices.Contains(known, u.name) {
			hint := suggest(u.name, known)
			if len(known) == 0 {
				hint = "no agents are configured"
			}
			r.problem(u.node, hint, "%s: unknown type %q", u.at, u.name)
		}
	}
}

// typeUse is a place in the file that names a type.
type typeUse struct {
	node node
	at   string
	name string
}
