package notice

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// Rule says which ends of runs are told to which receivers. Empty fields of the first three restrict nothing;
// without When, the rule is for failed runs.
type Rule struct {
	Project             string // whatever its case
	Prefix              string // of the workflow's name; the same
	When                []string
	UnlessSuccessWithin time.Duration // not where another run has succeeded so shortly before; 0: in any case
	Mail                []string
	Webhook             string
	Command             []string
}

// Letter is one message of an end, to one receiver.
type Letter struct {
	Channel Channel
	Target  string
	// Needs is what an instance must be able to do to send it: the channel, or
	// command:NAME.
	Needs string
}

// Rules reads the rules of a definition as the database keeps it. Parts of a rule that cannot be read count as
// absent, so that its receivers are told rather than not: a definition may have been written by SQL, or by a later
// version.
func Rules(definition []byte) (list []Rule) {
	var items []map[string]json.RawMessage
	if json.Unmarshal(definition, &items) != nil {
		return nil
	}
	for _, item := range items {
		r := Rule{When: words(item["when"]), Mail: words(item["mail"]), Command: words(item["command"])}
		_ = json.Unmarshal(item["webhook"], &r.Webhook)
		var span string
		if json.Unmarshal(item["unless_success_within"], &span) == nil {
			r.UnlessSuccessWithin, _ = time.ParseDuration(span)
		}
		list = append(list, r)
	}
	return list
}

// words reads a list of strings, or one.
func words(text json.RawMessage) (list []string) {
	var one string
	if json.Unmarshal(text, &one) == nil && one != "" {
		return []string{one}
	}
	_ = json.Unmarshal(text, &list)
	return list
}

// Concerns reports whether a rule is about an end.
func (r Rule) Concerns(e End) bool {
	when := r.When
	if len(when) == 0 {
		when = []string{"failed"}
	}
	switch {
	case r.Project != "" && !strings.EqualFold(r.Project, e.Project),
		len(r.Prefix) > len(e.Workflow) || !strings.EqualFold(r.Prefix, e.Workflow[:len(r.Prefix)]),
		!slices.Contains(when, e.State):
		return false
	}
	return e.LastSuccess == nil || r.UnlessSuccessWithin <= 0 || e.At.Sub(*e.LastSuccess) >= r.UnlessSuccessWithin
}

// Address lists the messages that an end calls for; each receiver once, whatever the number of rules that name it.
func Address(e End, rules []Rule) (list []Letter) {
	seen := map[Letter]bool{}
	add := func(l Letter) {
		if l.Target != "" && !seen[l] {
			seen[l] = true
			list = append(list, l)
		}
	}
	for _, r := range rules {
		if !r.Concerns(e) {
			continue
		}
		for _, m := range r.Mail {
			add(Letter{Mail, m, string(Mail)})
		}
		add(Letter{Webhook, r.Webhook, string(Webhook)})
		if len(r.Command) > 0 {
			text, err := json.Marshal(r.Command)
			if err == nil {
				add(Letter{Command, string(text), Needs(r.Command)})
			}
		}
	}
	return list
}

// AnyCommand is what an instance that obeys commands of the database can do.
const AnyCommand = "command:*"

// Needs is what an instance has to know to run a command: its name, where it is one
// word; else it has to obey commands of the database.
func Needs(command []string) string {
	if len(command) == 1 {
		return string(Command) + ":" + command[0]
	}
	return AnyCommand
}
