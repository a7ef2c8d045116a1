package page

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"bellhop/scheduler"
	"bellhop/verb"
)

// deed is what a button does, as a command and as a request: the start of a script.
type deed struct{ Says, Line, Curl string }

// deeds are those of a page of a site.
type deeds struct {
	address string
	list    []deed
}

// curl is a request to the API, with the token of a caller that may.
func (d *deeds) curl(method, path, body string) string {
	line := `curl -s -H "Authorization: Bearer $TOKEN" -X ` + method + " " + shell(d.address+"/api/v1"+path)
	if body != "" {
		line += " -d " + shell(body)
	}
	return line
}

// add adds what a verb does to a thing; says follows what stands on its button.
func (d *deeds) add(name, says string, thing any, with string) {
	v := verb.Of(name)
	text := fmt.Sprint(thing)
	method, path, body := v.Asked(url.PathEscape(text), with)
	says = strings.TrimSpace(v.Says + " " + says)
	d.list = append(d.list, deed{says, v.Typed(shell(text), with), d.curl(method, path, body)})
}

// line is the command of a verb, as the mouse tells it where it rests on a button.
func line(name string, thing any) string { return verb.Of(name).Typed(fmt.Sprint(thing), "") }

// Yourself are the deeds of the buttons that a job has now.
func (d jobData) Yourself() []deed {
	o := deeds{address: d.Address}
	for _, b := range []struct {
		verb string
		is   bool
	}{
		{"retry", d.CanRetry}, {"behind", d.Behind != nil}, {"release", d.State == scheduler.Held}, {"hold", d.CanHold},
		{"priority", !d.State.Final()}, {"cancel", !d.State.Final()}, {"kill", d.State == scheduler.Running},
	} {
		if b.is {
			o.add(b.verb, "", d.ID, "")
		}
	}
	return o.list
}

// planned are what can be ordered of all that match a filter.
var planned = []string{"retry", "release", "hold", "cancel", "priority"}

// Yourself are the deeds for all that match.
func (d jobsData) Yourself() (list []deed) {
	form := url.Values{}
	flags := ""
	flagOf := map[string]string{"state": "-s", "type": "-t", "key": "--key", "error": "--error", "run": "--run",
		"since": "--since", "until": "--until"}
	for _, p := range d.Filter {
		form.Add(p.Name, p.Value)
		switch p.Name {
		case "type":
			for _, t := range typesOf(p.Value) {
				flags += " -t " + shell(string(t))
			}
		case "key":
			flags += " --key " + shell(keyOf(p.Value))
		default:
			flags += " " + flagOf[p.Name] + " " + shell(p.Value)
		}
	}
	if len(d.Filter) == 0 {
		form.Set("all", "true")
		flags = " --all"
	}
	o := deeds{address: d.Address}
	for _, v := range planned {
		form.Set("verb", v)
		form.Set("priority", "-10")
		var in verb.In
		if err := planIn(form, &in); err != nil { // its button says so
			return nil
		}
		body, command := fmt.Sprintf(`{"verb": %q, "filter": %s}`, v, in.Match), line("plan", "")+" "+v
		if n := in.Edit.Priority; n != nil {
			body = fmt.Sprintf(`{"verb": %q, "priority": %d, "filter": %s}`, v, *n, in.Match)
			command += fmt.Sprintf(" --priority %d", *n)
		}
		list = append(list, deed{verb.Of(v).Says + "…", command + flags, o.curl("POST", "/operations", body)})
	}
	return list
}

// Yourself are the deeds of the buttons that an operation has now.
func (d operationData) Yourself() []deed {
	o := deeds{address: d.Address}
	if d.CanStart() && d.Planned > 0 {
		o.add("start", "", d.ID, "")
	}
	if d.CanStop() {
		o.add("stop", "", d.ID, "")
	}
	if d.CanUndo() {
		o.add("undo", "", d.ID, "")
	}
	return o.list
}

// Yourself are the deeds of a workflow's buttons.
func (d workflowData) Yourself() []deed {
	o := deeds{address: d.Address}
	o.add("run", "", d.Name, "")
	if d.Active {
		o.add("deactivate", "", d.Name, "")
	} else {
		o.add("activate", "", d.Name, "")
	}
	for _, v := range d.Versions { // the newest first; the others go alike
		if v.Version != d.Version {
			version := strconv.Itoa(v.Version)
			o.add("revert", version, d.Name, version)
			break
		}
	}
	return o.list
}

// Yourself are the deeds of a run's buttons.
func (d runData) Yourself() []deed {
	o := deeds{address: d.Address}
	if d.CanTry {
		o.add("rerun", "", d.ID, "")
	}
	return o.list
}

// Yourself are the deeds of the buttons of types and instances.
func (d hostsData) Yourself() []deed {
	o := deeds{address: d.Address}
	seen := map[scheduler.TypeName]bool{}
	for _, a := range d.Agents {
		if seen[a.Type] || len(seen) >= typesTold {
			continue
		}
		seen[a.Type] = true
		if a.Paused {
			o.add("resume", clean(a.Type), a.Type, "")
		} else {
			o.add("pause", clean(a.Type), a.Type, "")
		}
	}
	if !d.AllPaused {
		o.list = append(o.list, deed{Says: "Pause everything", Line: strings.TrimSpace(line("pause", ""))})
	}
	for _, i := range d.Instances {
		o.add("shutdown", clean(i.Name), i.ID, "")
	}
	return o.list
}

// typesTold is of how many types the page of hosts tells it: the others go alike.
const typesTold = 20
