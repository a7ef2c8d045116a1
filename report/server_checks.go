package report

import (
	"fmt"
	"math"

	"bellhop/scheduler/words"
)

const (
	// notifyFull is how full the notification queue may be. When it is full, the commits of all sessions that ring
	// fail.
	notifyFull = 0.1
	// PerInstance is the most connections that an instance has, in addition to one for each MSQ job that is read and
	// one for each agent with DB:.
	PerInstance = 10
)

const reload = "select pg_reload_conf()"

// serverChecks look at the server alone.
var serverChecks = []check{
	{"read_only", "writable", Mend, func(s Scene) []trouble {
		switch {
		case s.Server.Standby:
			return []trouble{{says: "the server is a standby: it takes no writes",
				mend: "name the primary; with several hosts in the URL add target_session_attrs=read-write"}}
		case s.Server.ReadOnly:
			return []trouble{{says: "transactions are read-only (default_transaction_read_only)", sql: []string{
				"set default_transaction_read_only = off",
				fmt.Sprintf("alter database %s reset default_transaction_read_only", words.Identifier(s.Server.Database))}}}
		}
		return nil
	}, func(Scene) string { return "the server takes writes" }},
	{"not_durable", "durability", Mend, durability, func(Scene) string { return "what is committed is on the disk" }},
	{"notify_queue_full", "notifications", Mend, func(s Scene) []trouble {
		if s.Server.NotifyUsage <= notifyFull {
			return nil
		}
		return []trouble{{says: fmt.Sprintf("the notification queue is %.0f%% full: a listener sits in a transaction; when it is full, inserts fail",
			100*s.Server.NotifyUsage), sql: []string{"select pg_terminate_backend(pid) from pg_stat_activity where state like 'idle in transaction%' and xact_start < now() - interval '1 minute'"}}}
	}, func(s Scene) string {
		return fmt.Sprintf("the notification queue is %.0f%% full", math.Ceil(100*s.Server.NotifyUsage))
	}},
	{"connections_few", "connections", Mend, func(s Scene) []trouble {
		if s.Server.MaxConnections-s.Server.Connections >= PerInstance {
			return nil
		}
		return []trouble{{says: fmt.Sprintf("%d of %d connections are taken; an instance needs %d", s.Server.Connections,
			s.Server.MaxConnections, PerInstance),
			sql: []string{fmt.Sprintf("alter system set max_connections = %d", s.Server.MaxConnections+10*PerInstance)},
			// The new value holds after a restart of the server only.
			mend: "   # and restart the server"}}
	}, func(s Scene) string {
		return fmt.Sprintf("%d of %d are free; an instance needs %d", s.Server.MaxConnections-s.Server.Connections,
			s.Server.MaxConnections, PerInstance)
	}},
	{"autovacuum_off", "autovacuum", Mend, func(s Scene) []trouble {
		if s.Server.Autovacuum {
			return nil
		}
		return []trouble{{says: "autovacuum is off: the queue's table and indexes only grow",
			sql: []string{"alter system set autovacuum = on", reload}}}
	}, func(Scene) string { return "autovacuum is on" }},
}

func durability(s Scene) (list []trouble) {
	for _, setting := range []struct {
		name string
		on   bool
	}{{"fsync", s.Server.Fsync}, {"full_page_writes", s.Server.FullPageWrites}} {
		if !setting.on {
			list = append(list, trouble{says: setting.name + " is off: a crash of the machine can destroy the database",
				sql: []string{"alter system set " + setting.name + " = on", reload}})
		}
	}
	if s.Server.SynchronousCommit != "off" {
		return list
	}
	reset := []string{"alter system set synchronous_commit = on", reload}
	switch s.Server.SynchronousSource {
	case "database":
		reset = []string{fmt.Sprintf("alter database %s reset synchronous_commit", words.Identifier(s.Server.Database))}
	case "user":
		reset = []string{fmt.Sprintf("alter role %s reset synchronous_commit", words.Identifier(s.Server.Login))}
	case "database user":
		login, database := words.Identifier(s.Server.Login), words.Identifier(s.Server.Database)
		reset = []string{fmt.Sprintf("alter role %s in database %s reset synchronous_commit", login, database)}
	}
	return append(list, trouble{
		says: "synchronous_commit is off: a crash of the server can lose jobs whose INSERT was committed", sql: reset})
}

// openChecks look at what keeps vacuum back, and at the schema's triggers.
var openChecks = []check{
	{"transaction_open", "transactions", Mend, func(s Scene) (list []trouble) {
		for _, r := range s.Open {
			t := trouble{says: fmt.Sprintf("%s of %s (pid %d, %s) is in a transaction for %s: vacuum cannot clean what has changed since",
				words.Clean(r.Name), r.Login, r.PID, r.State, words.Age(r.Age)),
				sql: []string{fmt.Sprintf("select pg_terminate_backend(%d)", r.PID)}}
			if r.PID == 0 {
				t = trouble{says: fmt.Sprintf("the prepared transaction %s of %s is open for %s: vacuum cannot clean what has changed since",
					r.Prepared, r.Login, words.Age(r.Age)), sql: []string{"rollback prepared " + words.Literal(r.Prepared)}}
			}
			list = append(list, t)
		}
		return list
	}, func(s Scene) string {
		if !s.Server.SeesAll {
			return "of its own, none is open for longer than " + s.OldAfter.String()
		}
		return "none is open for longer than " + s.OldAfter.String()
	}},
	{"trigger_off", "triggers", Mend, func(s Scene) (list []trouble) {
		for _, t := range s.Triggers {
			if !t.Fires {
				list = append(list, trouble{says: fmt.Sprintf("the trigger %s on %s is disabled", t.Name, t.OnTable),
					sql: []string{fmt.Sprintf("alter table %s enable trigger %s", t.OnTable, words.Identifier(t.Name))}})
			}
		}
		return list
	}, nil},
}
