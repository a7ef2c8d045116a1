// Package dial makes every connection of an instance, and of a command, from what its user wrote: a URL, keywords, a
// service or PG* variables. It reads passwords, service files and certificates anew for each connection, pins the
// settings that a login or a database may have changed, and finds the server that takes writes. Judge says what an
// error means for the session in which it came.
package dial

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Way is how a server is reached, and how a session there is set up.
type Way struct {
	URL      string            // a URL, or keywords; empty: PG* variables alone
	Name     string            // application_name; empty: what URL says
	Settings map[string]string // of the session; they win over what URL, login and database say
	// Writes: a server that takes no writes will not do (*ReadOnly). Without it, such a server will do where no other
	// is named.
	Writes bool
	// Tune changes what was read; nil: nothing. Called for each connection.
	Tune func(*pgx.ConnConfig)
}

// connectPatience is how long the servers of a Way may take, together, to let a session in where URL sets no limit;
// connectLeast what each of many gets of it.
const connectPatience, connectLeast = 5 * time.Second, 2 * time.Second

// Pinned are the settings of all sessions of an instance. A login, a database or a server may have others, under which
// statements would be cut off, mean something else or read otherwise. docs/production.md has the list.
//
// default_transaction_read_only is not among them: a database that takes no writes was told to take none.
var Pinned = map[string]string{
	"client_encoding": "UTF8",
	// Other roles that may make functions in public could give our statements other ones, with the scheduler's rights.
	"search_path": "pg_catalog, bellhop, pg_temp",
	// Statements are bounded here. The timer of statement_timeout would be set for each of them.
	"statement_timeout": "0",
	"lock_timeout":      "0",
	// Ending a session that is silent amid a transaction frees what a frozen machine, or a line that was cut, has locked.
	"idle_in_transaction_session_timeout": "5s",
	"idle_session_timeout":                "0", // listeners are silent while nothing rings
	"default_transaction_isolation":       "read committed",
	"default_transaction_deferrable":      "off",
	"DateStyle":                           "ISO, MDY",
	"IntervalStyle":                       "postgres",
	"extra_float_digits":                  "1",
	"bytea_output":                        "hex",
	"standard_conforming_strings":         "on",
	"row_security":                        "on",
	// Beside a million ready jobs the planner expects so much of the larger claim that the server would compile it anew
	// for each claim, for seconds: our statements end before any compiler does.
	"jit": "off",
}

// With gives Pinned and these, which win.
func With(settings map[string]string) map[string]string {
	all := maps.Clone(Pinned)
	maps.Copy(all, settings)
	return all
}

// Guest are the settings of sessions in which a user's own text runs (queries of MSQ jobs, DB: of agents): what ends
// a session that rests is off, and the text form of values is the contract's. Where names are looked for, how dates
// are read and how long a statement may take is left to the login.
var Guest = map[string]string{
	"client_encoding": "UTF8", "bytea_output": "hex", "extra_float_digits": "1", "IntervalStyle": "postgres",
	"idle_in_transaction_session_timeout": "0", "idle_session_timeout": "0",
}

// isoDates has dates written as the contract says, and read in the order that the login likes: both are one setting,
// and a startup packet can set both only.
const isoDates = "set datestyle = 'ISO'"

// statementsMost is how many statements a session keeps prepared: more than any has, and a table of that size.
const statementsMost = 128

// KeepStatements is for Way.Tune: the session keeps its statements prepared.
func KeepStatements(config *pgx.ConnConfig) {
	config.StatementCacheCapacity, config.DescriptionCacheCapacity = statementsMost, 0
}

// Connect opens a session with the first of the servers that will do. It is open to errors.As for *ReadOnly,
// *Refused and pgx's own. ctx bounds the whole.
func (w Way) Connect(ctx context.Context) (*pgx.Conn, error) {
	servers, err := w.servers()
	if err != nil {
		return nil, err
	}
	var tried []error
	open := func(writes bool) *pgx.Conn {
		for _, s := range servers {
			conn, err := w.connect(ctx, s, len(servers), writes)
			if err == nil {
				return conn
			}
			tried = append(tried, err)
			if ctx.Err() != nil {
				break
			}
		}
		return nil
	}
	if conn := open(w.Writes || len(servers) > 1); conn != nil {
		return conn, nil
	}
	failed := several(tried)
	var readOnly *ReadOnly
	if !w.Writes && errors.As(failed, &readOnly) && ctx.Err() == nil {
		if conn := open(false); conn != nil {
			return conn, nil
		}
	}
	return nil, failed
}

// Check tells what is wrong with what the user wrote.
func (w Way) Check() error {
	_, err := w.Config()
	return err
}

// Config is what the user wrote, read now, with all servers in it. It is for a pool, which asks before each
// connection; a session of one's own is better had by Connect.
func (w Way) Config() (*pgx.ConnConfig, error) {
	config, err := parse(w.URL)
	if err != nil {
		return nil, err
	}
	if err := w.setUp(config, 1); err != nil {
		return nil, err
	}
	many := slices.ContainsFunc(config.Fallbacks, func(f *pgconn.FallbackConfig) bool {
		return f.Host != config.Host || f.Port != config.Port
	})
	if w.Writes || many && config.ValidateConnect == nil {
		config.ValidateConnect = func(_ context.Context, conn *pgconn.PgConn) error {
			return writable(conn.Conn().RemoteAddr().String(), conn)
		}
	}
	return config, nil
}

// connect opens a session with one server.
func (w Way) connect(ctx context.Context, s server, of int, writes bool) (*pgx.Conn, error) {
	config, err := parse(s.url)
	if err != nil {
		return nil, err
	}
	if err := w.setUp(config, of); err != nil {
		return nil, err
	}
	if s.addr != "" {
		config.LookupFunc = func(context.Context, string) ([]string, error) { return []string{s.addr}, nil }
	}
	at := address(config)
	if w.Writes || writes && config.ValidateConnect == nil {
		config.ValidateConnect = func(_ context.Context, conn *pgconn.PgConn) error { return writable(at, conn) }
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	return conn, refusedBy(at, config.User, err)
}

// setUp sets a session up. of is how many servers may be tried.
func (w Way) setUp(config *pgx.ConnConfig, of int) error {
	words, err := takeWords(config)
	if err != nil {
		return err
	}
	if w.Name != "" {
		config.RuntimeParams["application_name"] = w.Name
	} else if config.RuntimeParams["application_name"] == "" && words.called != "" {
		config.RuntimeParams["application_name"] = words.called
	}
	for name, value := range w.Settings {
		for given := range config.RuntimeParams { // settings have no case
			if strings.EqualFold(given, name) {
				delete(config.RuntimeParams, given)
			}
		}
		config.RuntimeParams[name] = value
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = max(connectPatience/time.Duration(of), connectLeast)
	}
	if _, pinned := w.Settings["idle_session_timeout"]; pinned {
		config.AfterConnect = afterwards(w.Settings["DateStyle"] == "")
	}
	words.keepAlive(config)
	if w.Tune != nil {
		w.Tune(config)
	}
	return nil
}

// afterwards sets what a startup packet cannot.
func afterwards(dates bool) pgconn.AfterConnectFunc {
	return func(ctx context.Context, conn *pgconn.PgConn) error {
		var list []string
		if dates {
			list = append(list, isoDates)
		}
		if major(conn.ParameterStatus("server_version")) >= 17 { // older ones do not know it
			list = append(list, "set transaction_timeout = 0")
		}
		if len(list) == 0 {
			return nil
		}
		_, err := conn.Exec(ctx, strings.Join(list, "; ")).ReadAll()
		return err
	}
}

// server is one of those that a URL names.
type server struct {
	url  string // the same for this one alone
	addr string // hostaddr: not looked up
}

// servers lists them in the order in which they are tried.
func (w Way) servers() ([]server, error) {
	config, err := parse(w.URL)
	if err != nil {
		return nil, err
	}
	words, err := takeWords(config)
	if err != nil {
		return nil, err
	}
	all := []pgconn.FallbackConfig{{Host: config.Host, Port: config.Port}}
	for _, f := range config.Fallbacks {
		if last := all[len(all)-1]; f.Host != last.Host || f.Port != last.Port { // else the same, without TLS
			all = append(all, *f)
		}
	}
	if len(words.addrs) > 0 && len(words.addrs) != len(all) {
		return nil, &Unfit{"hostaddr", fmt.Sprintf("it names %d addresses for %d hosts", len(words.addrs), len(all))}
	}
	if len(all) == 1 && words.addrs == nil {
		return []server{{url: w.URL}}, nil
	}
	var list []server
	for i, s := range all {
		one := server{}
		if words.addrs != nil {
			one.addr = words.addrs[i]
			if strings.HasPrefix(s.Host, "/") { // no host was named
				s.Host = one.addr
			}
		}
		// By its own URL, so that the password file is asked for this host, and TLS looks for its name.
		one.url = narrowed(w.URL, s.Host, s.Port)
		list = append(list, one)
	}
	if words.balance {
		rand.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	}
	return list, nil
}

// address is where a session leads, for people.
func address(config *pgx.ConnConfig) string {
	if strings.HasPrefix(config.Host, "/") {
		return fmt.Sprintf("%s:%d", config.Host, config.Port)
	}
	return net.JoinHostPort(config.Host, strconv.Itoa(int(config.Port)))
}

// major is the first number of what a server calls its version, such as "15.18 (Debian)" or "18beta1"; 0: not told.
func major(version string) int {
	end := strings.IndexFunc(version+" ", func(r rune) bool { return r < '0' || r > '9' })
	n, err := strconv.Atoi(version[:end])
	if err != nil {
		return 0
	}
	return n
}
