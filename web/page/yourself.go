package page

import (
	"fmt"
	"net/url"
	"strings"

	"bellhop/scheduler"
)

// deed is what a button does, as a command and as a request: the start of a script.
type deed struct{ Says, Line, Curl string }

// orders makes deeds for a site.
type orders struct{ address string }

// curl is a request to the API, with the token of a caller that may.
func (o orders) curl(method, path, body string) string {
	line := `curl -s -H "Authorization: Bearer $TOKEN" -X ` + method + " " + shell(o.address+"/api/v1"+path)
	if body != "" {
		line += " -d " + shell(body)
	}
	return line
}

func (o orders) post(says, line, path string) deed { return deed{says, line, o.curl("POST", path, "")} }

// Yourself are the deeds of the buttons that a job has now.
func (d jobData) Yourself() (list []deed) {
	o := orders{d.Address}
	of := func(says, line, verb string) {
		list = append(list, o.post(says, fmt.Sprintf(line, d.ID), fmt.Sprintf("/jobs/%d/%s", d.ID, verb)))
	}
	if d.CanRetry {
		of("Retry", "bellhop retry %d", "retry")
	}
	if d.Behind != nil {
		of("Retry from here", "bellhop retry --behind %d", "retry?behind=true")
	}
	if d.State == scheduler.Held {
		of("Release", "bellhop release %d", "release")
	}
	if d.CanHold {
		of("Hold", "bellhop edit %d --hold", "hold")
	}
	if !d.State.Final() {
		list = append(list, deed{"Priority", fmt.Sprintf("bellhop edit %d --priority -10", d.ID),
			o.curl("PATCH", fmt.Sprintf("/jobs/%d", d.ID), `{"priority": -10}`)})
		of("Cancel", "bellhop cancel %d", "cancel")
	}
	if d.State == scheduler.Running {
		of("Kill now", "bellhop cancel --now %d", "cancel?now=true")
	}
	return list
}

// planned are what can be ordered of all that match a filter.
var planned = []struct{ verb, says string }{{"retry", "Retry…"}, {"release", "Release…"}, {"hold", "Hold…"},
	{"cancel", "Cancel…"}, {"priority", "Priority…"}}

// Yourself are the deeds for all that match.
func (d jobsData) Yourself() (list []deed) {
	form := url.Values{}
	line := ""
	flags := map[string]string{"state": "-s", "type": "-t", "key": "--key", "error": "--error", "run": "--run",
		"since": "--since", "until": "--until"}
	for _, p := range d.Filter {
		form.Add(p.Name, p.Value)
		switch p.Name {
		case "type":
			for _, t := range typesOf(p.Value) {
				line += " -t " + shell(string(t))
			}
		case "key":
			line += " --key " + shell(keyOf(p.Value))
		default:
			line += " " + flags[p.Name] + " " + shell(p.Value)
		}
	}
	if len(d.Filter) == 0 {
		form.Set("all", "true")
		line = " --all"
	}
	o := orders{d.Address}
	for _, v := range planned {
		form.Set("verb", v.verb)
		form.Set("priority", "-10")
		_, filter, priority, err := orderOf(form)
		if err != nil { // its button says so
			return nil
		}
		body, command := fmt.Sprintf(`{"verb": %q, "filter": %s}`, v.verb, filter), "bellhop operation plan "+v.verb
		if priority != nil {
			body = fmt.Sprintf(`{"verb": %q, "priority": %d, "filter": %s}`, v.verb, *priority, filter)
			command += fmt.Sprintf(" --priority %d", *priority)
		}
		list = append(list, deed{v.says, command + line, o.curl("POST", "/operations", body)})
	}
	return list
}

// Yourself are the deeds of the buttons that an operation has now.
func (d operationData) Yourself() (list []deed) {
	o := orders{d.Address}
	of := func(says, verb string) {
		list = append(list, o.post(says, fmt.Sprintf("bellhop operation %s %d", verb, d.ID),
			fmt.Sprintf("/operations/%d/%s", d.ID, verb)))
	}
	if d.CanStart() && d.Planned > 0 {
		of("Start", "start")
	}
	if d.CanStop() {
		of("Stop", "stop")
	}
	if d.CanUndo() {
		of("Undo", "undo")
	}
	return list
}

// Yourself are the deeds of a workflow's buttons.
func (d workflowData) Yourself() []deed {
	o, path := orders{d.Address}, "/workflows/"+url.PathEscape(d.Name)
	says, verb := "Activate", "activate"
	if d.Active {
		says, verb = "Deactivate", "deactivate"
	}
	list := []deed{
		o.post("Run", "bellhop workflow run "+shell(d.Name), path+"/run"),
		o.post(says, "bellhop workflow "+verb+" "+shell(d.Name), path+"/"+verb),
	}
	for _, v := range d.Versions { // the newest first; the others go alike
		if v.Version != d.Version {
			return append(list, o.post(fmt.Sprintf("Go back to version %d", v.Version),
				fmt.Sprintf("bellhop workflow revert %s %d", shell(d.Name), v.Version),
				fmt.Sprintf("%s/versions/%d/revert", path, v.Version)))
		}
	}
	return list
}

// Yourself are the deeds of a run's buttons.
func (d runData) Yourself() []deed {
	if !d.CanTry {
		return nil
	}
	return []deed{orders{d.Address}.post("Go on at the failed step", fmt.Sprintf("bellhop workflow retry %d", d.ID),
		fmt.Sprintf("/runs/%d/retry", d.ID))}
}

// Yourself are the deeds of the buttons of types and instances.
func (d hostsData) Yourself() (list []deed) {
	o := orders{d.Address}
	seen := map[scheduler.TypeName]bool{}
	for _, a := range d.Agents {
		if seen[a.Type] || len(seen) >= typesTold {
			continue
		}
		seen[a.Type] = true
		says, verb := "Pause", "pause"
		if a.Paused {
			says, verb = "Resume", "resume"
		}
		list = append(list, o.post(says+" "+clean(a.Type), "bellhop "+verb+" "+shell(string(a.Type)),
			"/types/"+url.PathEscape(string(a.Type))+"/"+verb))
	}
	if !d.AllPaused {
		list = append(list, deed{Says: "Pause everything", Line: "bellhop pause"})
	}
	for _, i := range d.Instances {
		args := fmt.Sprintf("shutdown %d", i.ID)
		list = append(list, deed{"Stop " + strings.TrimSpace(clean(i.Name)), "bellhop submit command " + shell(args),
			o.curl("POST", "/jobs", fmt.Sprintf(`{"type": "command", "args": %q}`, args))})
	}
	return list
}

// typesTold is of how many types the page of hosts tells it: the others go alike.
const typesTold = 20
