package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"bellhop/scheduler"
)

// Reload is what becomes of a running instance whose file has changed.
type Reload struct {
	// Config is what the instance goes on with: the new one, but for what holds
	// from its next start only.
	Config                  Config
	Added, Removed, Changed []scheduler.TypeName // types
	Hosts                   []scheduler.HostName // whose slots, names or types are others
	Limits                  []string             // keys
	Keys                    bool                 // where they are read from
	Restart                 []string             // what holds from the next start
}

// Compare says what of a new configuration a running instance takes. Whatever it
// does not know how to take, new keys too, is in Restart.
func Compare(old, now Config) Reload {
	r := Reload{Config: old}
	r.Config.File, r.Config.Encryption = now.File, now.Encryption
	r.Keys = old.Encryption != now.Encryption
	r.agents(old.Agents, now.Agents)
	r.hosts(old.Hosts, now.Hosts)
	r.limits(old.Limits, now.Limits)
	r.rest(old, now)
	return r
}

// Nothing reports that the instance takes nothing.
func (r Reload) Nothing() bool {
	return len(r.Added)+len(r.Removed)+len(r.Changed)+len(r.Hosts)+len(r.Limits) == 0 && !r.Keys
}

// String says it in a line.
func (r Reload) String() string {
	var parts []string
	say := func(what string, names []string) {
		if len(names) > 0 {
			parts = append(parts, what+" "+strings.Join(names, ", "))
		}
	}
	say("agents added:", words(r.Added))
	say("agents removed:", words(r.Removed))
	say("agents changed:", words(r.Changed))
	say("hosts changed:", words(r.Hosts))
	say("limits changed:", r.Limits)
	if r.Keys {
		parts = append(parts, "encryption.keys changed")
	}
	switch {
	case len(parts) > 0:
	case len(r.Restart) > 0:
		parts = []string{"nothing changes now"}
	default:
		parts = []string{"nothing has changed"}
	}
	say("holds from the next start:", r.Restart)
	return strings.Join(parts, "; ")
}

func words[T ~string](list []T) []string {
	text := make([]string, len(list))
	for i, v := range list {
		text[i] = string(v)
	}
	return text
}

func (r *Reload) agents(old, now []Agent) {
	was := map[scheduler.TypeName]Agent{}
	for _, a := range old {
		was[a.Type] = a
	}
	r.Config.Agents = nil
	for _, a := range now {
		before, known := was[a.Type]
		delete(was, a.Type)
		at := fmt.Sprintf("agents.%s", a.Type)
		switch {
		case reflect.DeepEqual(before, a):
		case !slices.Equal(before.Locks, a.Locks): // every claim goes by them
			r.Restart = append(r.Restart, at+".locks"+others(known, before, a, func(a *Agent) { a.Locks = before.Locks }))
			a = before
		case before.FOSSology.Exclusive != a.FOSSology.Exclusive:
			r.Restart = append(r.Restart, at+".exclusive"+others(known, before, a, func(a *Agent) {
				a.FOSSology.Exclusive = before.FOSSology.Exclusive
			}))
			a = before
		case before.Mode == ModeEngine || a.Mode == ModeEngine: // an engine is a host of its own
			r.Restart = append(r.Restart, at)
			a = before
		case known:
			r.Changed = append(r.Changed, a.Type)
		default:
			r.Added = append(r.Added, a.Type)
		}
		if a.Type != "" { // one that is to come with the next start
			r.Config.Agents = append(r.Config.Agents, a)
		}
	}
	for _, a := range old {
		_, gone := was[a.Type]
		switch {
		case gone && a.Mode == ModeEngine:
			r.Restart = append(r.Restart, fmt.Sprintf("agents.%s (not in the file any more)", a.Type))
			r.Config.Agents = append(r.Config.Agents, a)
		case gone:
			r.Removed = append(r.Removed, a.Type)
		}
	}
}

func (r *Reload) hosts(old, now []Host) {
	r.Config.Hosts = slices.Clone(old)
	for _, h := range now {
		i := slices.IndexFunc(old, func(o Host) bool { return o.Name == h.Name })
		switch {
		case i < 0:
			r.Restart = append(r.Restart, fmt.Sprintf("hosts.%s", h.Name))
		case reflect.DeepEqual(old[i], h):
		case !slices.Equal(old[i].Connect, h.Connect):
			r.Restart = append(r.Restart, fmt.Sprintf("hosts.%s.connect", h.Name)+
				others(true, old[i], h, func(h *Host) { h.Connect = old[i].Connect }))
		default:
			r.Hosts = append(r.Hosts, h.Name)
			r.Config.Hosts[i] = h
		}
	}
	for _, h := range old {
		if !slices.ContainsFunc(now, func(n Host) bool { return n.Name == h.Name }) {
			r.Restart = append(r.Restart, fmt.Sprintf("hosts.%s (not in the file any more)", h.Name))
		}
	}
}

// others says that a change which waits for the next start keeps other ones waiting: what was changed together, such as
// a command and its locks, belongs together. undo takes the change that waits back.
func others[T any](known bool, before, now T, undo func(*T)) string {
	if undo(&now); known && !reflect.DeepEqual(before, now) {
		return ", and with it its other changes"
	}
	return ""
}

// fixedLimits are those that processes and connections keep.
var fixedLimits = []string{"DBTimeout", "DBRows", "DBBytes", "Result"}

func (r *Reload) limits(old, now Limits) {
	was, is, to := reflect.ValueOf(old), reflect.ValueOf(now), reflect.ValueOf(&r.Config.Limits).Elem()
	for i := range was.NumField() {
		name := was.Type().Field(i).Name
		switch {
		case was.Field(i).Equal(is.Field(i)):
		case slices.Contains(fixedLimits, name):
			r.Restart = append(r.Restart, "limits."+key(name))
		default:
			r.Limits = append(r.Limits, key(name))
			to.Field(i).Set(is.Field(i))
		}
	}
}

// rest finds what else has changed.
func (r *Reload) rest(old, now Config) {
	was, is := reflect.ValueOf(old), reflect.ValueOf(now)
	for i := range was.NumField() {
		name := was.Type().Field(i).Name
		if !slices.Contains([]string{"File", "Agents", "Hosts", "Limits", "Encryption"}, name) &&
			!reflect.DeepEqual(was.Field(i).Interface(), is.Field(i).Interface()) {
			r.Restart = append(r.Restart, key(name))
		}
	}
}

// key is a field as the file has it: MinReady is min_ready.
func key(field string) string {
	if field == "FrontEnd" {
		return "fossology"
	}
	var b strings.Builder
	for i, c := range field {
		upper := c >= 'A' && c <= 'Z'
		if upper && i > 0 && field[i-1] >= 'a' {
			b.WriteByte('_')
		}
		b.WriteRune(c)
	}
	return strings.Replace(strings.ToLower(b.String()), "db", "db_", 1)
}
