package report

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"bellhop/scheduler"
	"bellhop/scheduler/words"
	"bellhop/sql/view"
)

// checks is the one list of findings. Codes stay the same for good.
var checks = slices.Concat(fleetChecks, workChecks, serverChecks, openChecks)

// silentAfter is how long a heartbeat is waited for before it is worth a word.
const silentAfter = 10 * time.Second

// Types whose jobs go badly: so many have failed within the hour, and more than have succeeded.
const failingLeast = 3

// namedMost is how many names one finding lists.
const namedMost = 5

var fleetChecks = []check{
	{"no_instance", "instances", Mend, func(s Scene) []trouble {
		if len(s.Instances) > 0 {
			return nil
		}
		return []trouble{{says: "none is running: jobs wait", mend: "bellhop serve   # or: systemctl start bellhop"}}
	}, func(s Scene) string { return words.Count(len(s.Instances), "instance") + " live" }},
	{"instance_silent", "instances", Mend, func(s Scene) (list []trouble) {
		for _, i := range s.Instances {
			if i.Silent > max(silentAfter, lagOf(i)).Seconds() {
				list = append(list, trouble{
					says: fmt.Sprintf("instance %d (%s, pid %d on %s) is silent for %s", i.ID, i.Name, i.PID, i.Hostname,
						words.Age(i.Silent)),
					mend: "bellhop instances   # another instance takes over what it holds; or: bellhop serve -R",
				})
			}
		}
		return list
	}, nil},
	{"versions_differ", "instances", Note, func(s Scene) []trouble {
		versions := map[string]bool{}
		for _, i := range s.Instances {
			versions[i.Version] = true
		}
		if len(versions) < 2 {
			return nil
		}
		return []trouble{{
			says: fmt.Sprintf("%d run, in %d versions: fine during an upgrade", len(s.Instances), len(versions)),
			mend: "bellhop instances",
		}}
	}, nil},
	{"host_down", "hosts", Mend, func(s Scene) (list []trouble) {
		for _, h := range s.Hosts {
			if h.State == "up" || h.State == "connecting" && h.Trouble == nil {
				continue
			}
			says := "host " + h.Name + " is " + h.State
			if h.Trouble != nil {
				says += ": " + *h.Trouble
			}
			list = append(list, trouble{says: says, mend: "bellhop hosts   # then by hand, as the account that serves: what connect: says, and true"})
		}
		return list
	}, func(s Scene) string { return words.Count(len(s.Hosts), "host") + " up" }},
	{"agent_fails", "types", Mend, failingAgents, nil},
	{"failover_loss", "failover", Mend, func(s Scene) (list []trouble) {
		for _, l := range s.Losses {
			list = append(list, trouble{says: l.Says(), sql: []string{view.LossSeen}}) // when it has been read
		}
		return list
	}, nil},
}

func lagOf(i view.InstanceRow) time.Duration {
	var hours, minutes, seconds int
	if _, err := fmt.Sscanf(i.Lag, "%d:%d:%d", &hours, &minutes, &seconds); err != nil {
		return 0 // days of it: the least will do
	}
	return time.Duration(hours)*time.Hour + time.Duration(minutes)*time.Minute + time.Duration(seconds)*time.Second
}

// byHost says, host by host, why no child comes up; empty: they do.
func byHost(object json.RawMessage) string {
	var reasons map[string]string
	if err := json.Unmarshal(object, &reasons); err != nil {
		return string(object) // not as we write it: shown as it is
	}
	var parts []string
	for _, host := range slices.Sorted(maps.Keys(reasons)) {
		parts = append(parts, host+": "+reasons[host])
	}
	return strings.Join(parts, "; ")
}

// failingAgents tells of types whose children do not come up, or are at rest after many deaths.
func failingAgents(s Scene) (list []trouble) {
	said := map[scheduler.TypeName]bool{}
	for _, a := range s.Agents {
		why := byHost(a.Trouble)
		if why == "" || said[a.Type] {
			continue
		}
		said[a.Type] = true
		if strings.Contains(why, " worked, ") && !strings.Contains(why, "none has come up") { // scheduler.Respawn.Trouble
			list = append(list, trouble{says: fmt.Sprintf("agents of %s die while they work: %s", a.Type, why),
				mend: "bellhop agents   # says what it said last"})
			continue
		}
		list = append(list, trouble{says: fmt.Sprintf("agents of %s do not come up: %s", a.Type, why),
			mend: "bellhop config check --spawn   # starts each once, and shows what it says"})
	}
	resting := map[scheduler.TypeName]int64{}
	for _, c := range s.Children {
		if c.State == "FAIL" && !said[c.Type] {
			resting[c.Type] += c.Deaths
		}
	}
	for _, c := range s.Children {
		if deaths, is := resting[c.Type]; is {
			delete(resting, c.Type)
			list = append(list, trouble{says: fmt.Sprintf("agents of %s are not started for now: %d died", c.Type,
				deaths), mend: "bellhop agents   # says what it said last"})
		}
	}
	return list
}

var workChecks = []check{
	{"type_unserved", "types", Mend, unserved, nil},
	{"type_fails", "types", Mend, failingTypes,
		func(s Scene) string {
			if len(unserved(s))+len(failingAgents(s)) > 0 {
				return "the jobs of no type mostly fail"
			}
			return "no type fails, and none waits for an agent that no instance has"
		}},
	{"messages_fail", "messages", Mend, func(s Scene) (list []trouble) {
		for _, m := range s.Messages {
			if m.Failing+m.GivenUp == 0 {
				continue
			}
			list = append(list, trouble{says: fmt.Sprintf("by %s, in the last day: %d wait after a failed try, %d were given up, %d were sent",
				m.Channel, m.Failing, m.GivenUp, m.Sent), mend: "bellhop workflow notify messages   # says why"})
		}
		return list
	}, nil},
	{"attachment_stuck", "attachments", Mend, func(s Scene) (list []trouble) {
		for _, x := range s.Attachments {
			if x.Trouble != nil {
				list = append(list, trouble{says: x.Name + ": " + *x.Trouble, mend: "bellhop attachments"})
			}
		}
		return list
	}, nil},
	{"paused", "paused", Note, func(s Scene) (list []trouble) {
		for _, p := range s.Paused {
			what, next := p.Type, "bellhop resume "+words.ShellWord(p.Type)
			if what == "" {
				what, next = "everything", "bellhop resume"
			}
			list = append(list, trouble{says: what + " is paused by " + p.PausedBy, mend: next})
		}
		return list
	}, nil},
}

// unserved tells of types of which jobs wait, and that no instance has an agent of.
func unserved(s Scene) (list []trouble) {
	more, jobs := 0, int64(0)
	for _, q := range s.Queue {
		if q.State != scheduler.Ready || !strings.HasPrefix(q.Why, "unknown_type") {
			continue
		}
		if len(list) == namedMost {
			more, jobs = more+1, jobs+q.Jobs
			continue
		}
		waits := "1 job waits that is"
		if q.Jobs != 1 {
			waits = words.Grouped(q.Jobs) + " jobs wait that are"
		}
		list = append(list, trouble{says: fmt.Sprintf("%s of type %s, which no instance serves", waits, q.Type),
			mend: "bellhop ls -s ready -t " + words.ShellWord(string(q.Type)) +
				"   # then an agent of that type in bellhop.yaml and a restart, or: bellhop cancel ID"})
	}
	if more > 0 {
		list = append(list, trouble{says: fmt.Sprintf("%s wait that are of %s more, which no instance serves",
			words.Counted(jobs, "job"), words.Count(more, "type")), mend: "bellhop stats"})
	}
	return list
}

func failingTypes(s Scene) (list []trouble) {
	for _, t := range s.Ended {
		if t.Failed >= failingLeast && t.Failed > t.Succeeded {
			list = append(list, trouble{
				says: fmt.Sprintf("of the jobs of %s that ended in the last hour, %d failed and %d succeeded", t.Type, t.Failed, t.Succeeded),
				mend: "bellhop ls -s failed -t " + words.ShellWord(t.Type) + "   # and of one of them: bellhop explain ID"})
		}
	}
	if len(list) > namedMost {
		more := len(list) - namedMost
		list = append(list[:namedMost], trouble{says: fmt.Sprintf("the jobs of %s more fail as often", words.Count(more, "type")), mend: "bellhop stats"})
	}
	return list
}
