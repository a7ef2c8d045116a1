package page

import (
	"fmt"
	"time"

	"bellhop/scheduler/words"
	"bellhop/sql/store"
)

type systemData struct {
	Findings  []finding
	Server    store.ServerRow
	Growth    []store.GrowthRow
	Open      []store.OpenRow
	Instances []store.InstanceRow
	Version   string
}

// finding is what is well or is to be mended, in the words of `bellhop doctor`.
type finding struct {
	Verdict string // ok, note, mend
	Check   string
	Says    string
	Mend    string
}

// oldTransaction is for how long one may be open.
const oldTransaction = 10 * time.Minute

func system(r *request) (content, error) {
	d, err := remembered(r.pages, r.who.Role, "system", 10*time.Second, func() (d systemData, err error) {
		if d.Server, err = r.Look.Server(r); err != nil {
			return d, err
		}
		if d.Open, err = r.Look.Open(r, oldTransaction); err != nil {
			return d, err
		}
		if d.Growth, err = r.Look.Growth(r); err != nil {
			return d, err
		}
		triggers, err := r.Look.Triggers(r)
		if err != nil {
			return d, err
		}
		f, err := r.fleet()
		d.Instances = f.Instances
		d.find(triggers)
		return d, err
	})
	d.Version = r.pages.Version
	return content{Title: "System", Template: "system", Data: d}, err
}

func (d *systemData) add(well bool, check, says, mend string) {
	verdict := "ok"
	if !well {
		verdict = "mend"
	} else {
		mend = ""
	}
	d.Findings = append(d.Findings, finding{verdict, check, says, mend})
}

// find says what of that is well.
func (d *systemData) find(triggers []store.TriggerRow) {
	s := d.Server
	d.add(len(d.Instances) > 0, "instances", words.Count(len(d.Instances), "instance")+" live", "bellhop serve")
	for _, i := range d.Instances {
		if i.Version != d.Instances[0].Version {
			d.add(false, "versions", "instances of different versions run beside each other", "bellhop instances")
			break
		}
	}
	d.add(
		!s.Standby && !s.ReadOnly,
		"server",
		fmt.Sprintf("PostgreSQL %d.%d, database %s", s.Version/10000, s.Version%100, s.Database),
		"it takes no writes: name the primary",
	)
	d.add(
		s.Fsync && s.FullPageWrites,
		"durability",
		fmt.Sprintf("fsync %t, full_page_writes %t", s.Fsync, s.FullPageWrites),
		"alter system set fsync = on; alter system set full_page_writes = on",
	)
	d.add(s.Autovacuum, "autovacuum", fmt.Sprintf("on: %t", s.Autovacuum), "alter system set autovacuum = on")
	d.add(s.NotifyUsage < 0.5, "bell", fmt.Sprintf("the notification queue is %.0f %% full", s.NotifyUsage*100),
		"a listener does not read: bellhop doctor names it")
	d.add(
		s.Connections*10 < s.MaxConnections*9,
		"connections",
		fmt.Sprintf("%d of %d", s.Connections, s.MaxConnections),
		"alter system set max_connections = …, or a pooler for the apps",
	)
	oldest := "no transaction has been open for longer than " + words.Age(oldTransaction.Seconds())
	mend := ""
	if len(d.Open) > 0 {
		o := d.Open[0]
		oldest = fmt.Sprintf(
			"the oldest transaction has been open for %s: %s %s",
			words.Age(o.Age),
			o.Login,
			o.Name,
		)
		mend = fmt.Sprintf("select pg_terminate_backend(%d)", o.PID)
		if o.Prepared != "" {
			mend = "rollback prepared '" + o.Prepared + "'"
		}
	}
	d.add(len(d.Open) == 0, "oldest transaction", oldest, mend)
	for _, t := range triggers {
		if !t.Fires {
			d.add(
				false,
				"triggers",
				"the trigger "+t.Name+" on "+t.OnTable+" is disabled",
				"alter table "+t.OnTable+" enable trigger "+t.Name,
			)
		}
	}
}
