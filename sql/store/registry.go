package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"bellhop/scheduler"
	"bellhop/scheduler/lock"
	"bellhop/sql"
)

// Registry is where instances live and are found dead. It has a connection of
// its own: a heartbeat must not wait behind work.
type Registry struct {
	session
	// On which server each connection is that it has had of late; used under the connection's lock.
	met    *pgx.Conn
	server string
}

// NewRegistry returns a session for membership; it connects at its first use.
func NewRegistry(url string) (*Registry, error) {
	conn, err := newConnection(url, "registry", upkeep)
	return &Registry{session: session{conn}}, err
}

// Instance is how an instance introduces itself.
type Instance struct {
	Name, Hostname, Machine string
	Pid                     int
	ProcessStart, Version   string
	Lag                     time.Duration
	Queries                 int      // how many MSQ jobs it reads at once; 0: not told
	Policy                  *string  // of jobs with locks, as lock.Policy.JSON; nil: not told
	Tells                   []string // which messages it can send: notice.Letter.Needs
	Watches                 *string  // what sensors it can watch, as workflow.Sees; nil: none
	Listen                  string   // where it answers; empty: nowhere
	Keys                    []string // ids of the keys with which it opens sealed jobs
	Hosts                   []Host
	Agents                  []Agent
}

// Host is a host as its instance publishes it.
type Host struct {
	Name    string
	Slots   int
	Serves  []string
	State   scheduler.HostState
	Locates bool // its instance asks a query where the host of a key is
	scheduler.Terms
	Takes *scheduler.Only // of the types that it does not refuse only this; nil: everything
}

// Agent is a type as its instance publishes it.
type Agent struct {
	Type, Mode, Dialect, Command string
	Max, MaxPerHost              int
	Takes                        scheduler.Takes        // what a child takes of its host
	Local                        bool                   // not on hosts that are far
	Exclusive                    bool                   // nothing else runs on the instance beside it
	Retry                        *scheduler.RetryPolicy // nil: scheduler.DefaultRetry
	Locks                        []string               // templates
	Share                        lock.ShareTemplate     // the zero value: none
	Vars                         []string               // names of job vars that it takes, and path.Match patterns
}

var (
	registerSQL     = sql.Query("register")
	publishHostSQL  = sql.Query("publish_host")
	publishAgentSQL = sql.Query("publish_agent")
	publishKeysSQL  = sql.Query("publish_keys")
	wakeSealedSQL   = sql.Query("wake_sealed")
	unpublishSQL    = sql.Query("unpublish_agents")
	childrenSQL     = sql.Query("publish_children")
	beatSQL         = sql.Query("beat")
	suspectsSQL     = sql.Query("suspects")
	markGoneSQL     = sql.Query("mark_gone")
	troubleSQL      = sql.Query("trouble")
	hostStateSQL    = sql.Query("host_state")
)

// Register makes the instance known and returns its id.
func (r *Registry) Register(ctx context.Context, i Instance) (scheduler.InstanceID, error) {
	var id int64
	err := r.conn.use(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			// Before it: on another server ids that are given now were not given before.
			if _, err := tx.Exec(ctx, eraSQL); err != nil {
				return err
			}
			if err := tx.QueryRow(ctx, registerSQL, i.Name, i.Hostname, i.Machine, i.Pid, i.ProcessStart, i.Version, i.Lag,
				sql.OrNull(i.Queries), i.Policy, sql.ListOrEmpty(i.Tells), i.Watches, i.Listen,
				sql.ListOrEmpty(i.Keys)).Scan(&id); err != nil {
				return err
			}
			return publish(ctx, tx, id, i)
		})
	})
	if err != nil {
		return 0, fmt.Errorf("register this instance: %w", err)
	}
	return scheduler.InstanceID(id), nil
}

// Reintroduce tells of the agents, and of what the hosts take, as they are now.
func (r *Registry) Reintroduce(ctx context.Context, me scheduler.InstanceID, i Instance) error {
	types := column(i.Agents, func(a *Agent) string { return a.Type })
	err := r.conn.use(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, unpublishSQL, int64(me), sql.ListOrEmpty(types)); err != nil {
				return err
			}
			if _, err := tx.Exec(ctx, publishKeysSQL, int64(me), sql.ListOrEmpty(i.Keys)); err != nil {
				return err
			}
			return publish(ctx, tx, int64(me), i)
		})
	})
	if err != nil {
		return fmt.Errorf("tell of the configuration: %w", err)
	}
	return nil
}

func publish(ctx context.Context, tx pgx.Tx, id int64, i Instance) error {
	if len(i.Keys) > 0 {
		if _, err := tx.Exec(ctx, wakeSealedSQL, i.Keys); err != nil {
			return err
		}
	}
	for _, h := range i.Hosts {
		if h.Serves == nil {
			h.Serves = []string{}
		}
		only := h.Takes
		if only == nil {
			only = &scheduler.Only{}
		}
		if _, err := tx.Exec(ctx, publishHostSQL, id, h.Name, h.Slots, h.Serves,
			cmp.Or(string(h.State), string(scheduler.HostUp)), h.Far,
			sql.ListOrNull(only.Priorities), sql.OrNull(only.Names), sql.OrNull(only.RJM), h.Locates,
			amounts(h.Has)); err != nil {
			return err
		}
	}
	for _, a := range i.Agents {
		refused := map[string]string{} // by host
		for _, h := range i.Hosts {
			if why := h.Refuses(scheduler.TypeName(a.Type), a.Local, a.Takes); why != "" {
				refused[h.Name] = why
			}
		}
		retry := scheduler.DefaultRetry
		if a.Retry != nil {
			retry = *a.Retry
		}
		pauses := []float64{retry.First.Seconds(), retry.Most.Seconds(), retry.Factor, retry.Jitter}
		if _, err := tx.Exec(ctx, publishAgentSQL, id, a.Type, a.Mode, a.Dialect, a.Command, a.Max, a.MaxPerHost, "{}",
			a.Local, a.Exclusive, max(retry.Attempts, 1), sql.ListOrEmpty(a.Locks), sql.ListOrEmpty(a.Vars), refused,
			pauses, amounts(a.Takes.Of), a.Takes.Slots(), sql.OrNull(a.Share.Text()),
			sql.ListOrNull(a.Share.Parts())); err != nil {
			return err
		}
	}
	return nil
}

// amounts are resources as the database has them.
func amounts(r scheduler.Resources) scheduler.Resources {
	if r == nil {
		return scheduler.Resources{}
	}
	return r
}

// Beat says that the instance lives, and rings its own heartbeat channel so
// that a deaf listener is found out. It tells when the beat before it was, and on
// which server. scheduler.ErrGone: it is too late.
func (r *Registry) Beat(ctx context.Context, me scheduler.InstanceID, channel string) (b scheduler.Beat, err error) {
	err = r.conn.use(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		if r.met != conn { // once a connection
			var floor int64
			if err := conn.QueryRow(ctx, eraSQL).Scan(&floor, &r.server); err != nil {
				return err
			}
			r.met = conn
		}
		b.Server = r.server
		row := conn.QueryRow(ctx, beatSQL, int64(me), channel)
		return heldBy(ctx, conn, me, row.Scan(&b.Was, &b.At, new(string)))
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return b, scheduler.ErrGone
	}
	if err != nil {
		return b, fmt.Errorf("heartbeat: %w", err)
	}
	return b, nil
}

// Suspects lists the other live instances.
func (r *Registry) Suspects(ctx context.Context, me scheduler.InstanceID) ([]scheduler.Suspect, error) {
	var list []scheduler.Suspect
	err := r.conn.use(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		rows, err := conn.Query(ctx, suspectsSQL, int64(me))
		if err != nil {
			return err
		}
		var s scheduler.Suspect
		var types []string
		_, err = pgx.ForEachRow(rows, []any{(*int64)(&s.ID), &s.Name, &s.Machine, &s.Pid, &s.ProcessStart, &s.Silent, &types},
			func() error {
				s.Types = column(types, func(t *string) scheduler.TypeName { return scheduler.TypeName(*t) })
				list = append(list, s)
				return nil
			})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("look at the other instances: %w", err)
	}
	return list, nil
}

// MarkGone records the death of an instance and makes what it held ready again.
// proven says that its process is known to be gone; otherwise it must still be
// silent for longer than its lag. It returns whether it was this call that did
// it, and how many jobs were freed.
func (r *Registry) MarkGone(
	ctx context.Context, dead scheduler.InstanceID, because string, proven bool,
) (did bool, jobs int, err error) {
	var n, freed int64
	err = r.conn.use(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		if err := conn.QueryRow(ctx, markGoneSQL, int64(dead), because, proven).Scan(&n, &freed); err != nil {
			return err
		}
		if n == 0 {
			return nil
		}
		_, err := conn.Exec(ctx, "select pg_notify('bellhop', '')") // all instances look
		return err
	})
	if err != nil {
		return false, 0, fmt.Errorf("take over from instance %d: %w", dead, err)
	}
	return n > 0, int(freed), nil
}

// keptFor is for how many more milliseconds a child keeps its slot; 0: it does not.
func keptFor(k scheduler.Kept, now time.Time) int64 {
	if k.From == "" {
		return 0
	}
	return max(1, k.Until.Sub(now).Milliseconds())
}

// keptBy names what decides for how long a child keeps its slot.
func keptBy(k scheduler.Kept) string {
	switch {
	case k.From == "":
		return ""
	case k.Most:
		return "limits.min_ready"
	}
	return "as long as a start takes"
}

// Children replaces what others see of this instance's children, and of the bounds that its hosts have hit.
func (r *Registry) Children(ctx context.Context, me scheduler.InstanceID, all []scheduler.ChildReport,
	hit scheduler.AllBounds, now time.Time) error {
	str := func(pick func(*scheduler.ChildReport) string) []string { return column(all, pick) }
	return r.conn.exec(ctx, "publish children", childrenSQL, int64(me),
		str(func(c *scheduler.ChildReport) string { return string(c.Host) }),
		str(func(c *scheduler.ChildReport) string { return string(c.Name) }),
		str(func(c *scheduler.ChildReport) string { return string(c.Type) }),
		str(func(c *scheduler.ChildReport) string { return c.State.String() }),
		column(all, func(c *scheduler.ChildReport) int32 { return int32(c.Pid) }),
		column(all, func(c *scheduler.ChildReport) int64 { return int64(c.Job) }),
		column(all, func(c *scheduler.ChildReport) int64 { return int64(ago(c.Since, now)) }),
		column(all, func(c *scheduler.ChildReport) int64 { return c.Done }),
		column(all, func(c *scheduler.ChildReport) int64 { return c.Deaths }),
		column(all, func(c *scheduler.ChildReport) int64 { return keptFor(c.Kept, now) }),
		str(func(c *scheduler.ChildReport) string { return string(c.Kept.From) }),
		str(func(c *scheduler.ChildReport) string { return keptBy(c.Kept) }), hit)
}

// Trouble publishes why no child of a type comes up on the hosts named;
// an empty map says that all is well again. What agents said stands apart, for operators.
func (r *Registry) Trouble(ctx context.Context, me scheduler.InstanceID, typ scheduler.TypeName,
	hosts map[string]scheduler.Account) error {
	reasons, words := map[string]string{}, map[string]string{}
	for host, why := range hosts {
		reasons[host] = text(why.Reason)
		if why.Message != "" {
			words[host] = text(why.Message)
		}
	}
	return r.conn.exec(ctx, "publish trouble", troubleSQL, int64(me), string(typ), reasons, words)
}

// Deaths publishes the last deaths of a type, by host, that no finished line has followed.
func (r *Registry) Deaths(
	ctx context.Context, me scheduler.InstanceID, typ scheduler.TypeName, hosts map[string]scheduler.Death,
) error {
	if hosts == nil {
		hosts = map[string]scheduler.Death{}
	}
	return r.conn.exec(ctx, "publish deaths",
		"update bellhop.agent set deaths = $3 where instance = $1 and type = $2", int64(me), string(typ), hosts)
}

// Draining publishes since when nothing starts but a job that must be alone; zero: that is over.
func (r *Registry) Draining(ctx context.Context, me scheduler.InstanceID, since time.Time) error {
	var at *time.Time
	if !since.IsZero() {
		at = &since
	}
	return r.conn.exec(ctx, "publish what is waited for",
		"update bellhop.instance set draining_since = $2 where id = $1", int64(me), at)
}

// HostState publishes whether a host can be reached, and if not, why.
func (r *Registry) HostState(
	ctx context.Context, me scheduler.InstanceID, host scheduler.HostName, state scheduler.HostState, words string,
) error {
	return r.conn.exec(ctx, fmt.Sprintf("publish the state of host %s", host), hostStateSQL,
		int64(me), string(host), string(state), text(words))
}
