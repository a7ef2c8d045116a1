package mcp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"bellhop/cmd/bellhop/internal/cli"
)

// field is an argument of a tool, and the flag of the command that takes it.
type field struct {
	name, kind, says string
	flag             string // empty: a word
}

// read is a tool that looks: a command, whose output is JSON.
type read struct {
	tool, command, says string
	fields              []field
	needs               int // so many of the fields, the first ones, have to be there
	lines               bool
}

const (
	word   = "string"
	words  = "array"
	number = "integer"
	yes    = "boolean"
)

var (
	job      = field{name: "job", kind: word, says: "id or key of the job"}
	states   = field{name: "states", kind: words, says: "only jobs in these states", flag: "state"}
	types    = field{name: "types", kind: words, says: "only jobs of these types", flag: "type"}
	few      = field{name: "limit", kind: number, says: "at most so many rows", flag: "limit"}
	workflow = field{name: "workflow", kind: word, says: "name of the workflow"}
)

// reads are all tools that look.
var reads = []read{
	{tool: "list_jobs", command: "ls",
		says:   "List jobs, the newest first. Without states: what is not finished, and what failed.",
		fields: []field{states, types, few}},
	{tool: "show_job", command: "show", says: "Show one job with its attempts and dependencies.",
		fields: []field{job}, needs: 1},
	{tool: "explain", command: "explain", says: "Say why a job does not run or how it ended: " +
		"every reason with a stable code, and the command that would change it.", fields: []field{job}, needs: 1},
	{tool: "logs", command: "logs", says: "Read what the agent of a job has printed.", lines: true, needs: 1,
		fields: []field{job,
			{name: "attempt", kind: number, says: "the attempt, from 1; default: the latest", flag: "attempt"},
			{name: "both", kind: yes, says: "stdout and stderr, in order", flag: "both"},
			{name: "since", kind: word, says: "lines since a time in UTC; 10m: of the last ten minutes", flag: "since"}}},
	{tool: "trace", command: "trace", says: "Show the timeline of a job.", fields: []field{job}, needs: 1},
	{tool: "graph", command: "graph", says: "List the jobs connected with a job by dependencies.",
		fields: []field{job, few}, needs: 1},
	{tool: "stats", command: "stats", says: "Count jobs by type and state, with times."},
	{tool: "history", command: "history", says: "Show what was done, by type and hour.", fields: []field{types,
		{name: "by", kind: word, says: "minute, hour or day", flag: "by"},
		{name: "since", kind: word, says: "start so long ago, such as 6h", flag: "since"}}},
	{tool: "hosts", command: "hosts", says: "List hosts with their slots and children."},
	{tool: "agents", command: "agents", says: "List the types of jobs that are served, and their agents."},
	{tool: "instances", command: "instances", says: "List the running instances."},
	{tool: "locks", command: "locks", says: "List locks, with holders and waiting jobs in order."},
	{tool: "attachments", command: "attachments", says: "List attached tables."},
	{tool: "filters", command: "filter list", says: "List the rules that refuse, pause or limit jobs."},
	{tool: "operations", command: "operation ls", says: "List changes of many jobs, with authors and progress.",
		fields: []field{few}},
	{tool: "workflows", command: "workflow ls", says: "List workflows."},
	{tool: "show_workflow", command: "workflow show", says: "Show a workflow with its steps and runs.",
		fields: []field{workflow}, needs: 1},
	{tool: "explain_workflow", command: "workflow explain", says: "Say why a workflow does not start.",
		fields: []field{workflow}, needs: 1},
	{tool: "workflow_runs", command: "workflow runs", says: "List runs of workflows.", fields: []field{
		{name: "states", kind: words, says: "only runs in these states", flag: "state"}, few}},
	{tool: "doctor", command: "doctor", says: "Check the installation, with the command that fixes each fault."},
	{tool: "simulate", command: "simulate", says: "Replay the jobs of the last week under another policy or in other slots.",
		fields: []field{
			{name: "from_history", kind: yes, says: "true", flag: "from-history"},
			{name: "since", kind: word, says: "so long ago, such as 36h", flag: "since"},
			{name: "slots", kind: number, says: "slots of the simulated hosts", flag: "slots"},
			{name: "order", kind: word, says: "predictive or fifo", flag: "order"}}, needs: 1},
}

// schema describes what a tool takes.
func schema(fields []field, needs int) json.RawMessage {
	properties, required := map[string]any{}, []string{}
	for i, f := range fields {
		p := map[string]any{"type": f.kind, "description": f.says}
		if f.kind == words {
			p["items"] = map[string]any{"type": "string"}
		}
		if properties[f.name] = p; i < needs {
			required = append(required, f.name)
		}
	}
	text, _ := json.Marshal(map[string]any{ // texts and numbers always become JSON
		"type": "object", "properties": properties, "required": required, "additionalProperties": false,
	})
	return text
}

func (s *server) addReads(m *mcp.Server) {
	for _, r := range reads {
		closed := false
		m.AddTool(&mcp.Tool{Name: r.tool, Description: r.says, InputSchema: schema(r.fields, r.needs),
			Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true, OpenWorldHint: &closed}},
			func(ctx context.Context, q *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				args, err := r.args(q.Params.Arguments)
				if err != nil {
					return refused(err), nil
				}
				return s.look(ctx, args, r.lines), nil
			})
	}
}

// args makes a command line of a tool's arguments. No value can be taken for a flag.
func (r read) args(text json.RawMessage) ([]string, error) {
	given := map[string]json.RawMessage{}
	if err := json.Unmarshal(object(text), &given); err != nil {
		return nil, invalid(r.tool, "its arguments are no JSON object")
	}
	line, last := strings.Fields(r.command), []string{"--"}
	for i, f := range r.fields {
		value, is := given[f.name]
		delete(given, f.name)
		if !is && i < r.needs {
			return nil, invalid(r.tool, "%s is missing: %s", f.name, f.says)
		}
		if !is {
			continue
		}
		texts, err := f.texts(value)
		if err != nil {
			return nil, invalid(r.tool, "%s: want %s", f.name, f.kind)
		}
		for _, t := range texts {
			if f.flag == "" {
				last = append(last, t)
			} else {
				line = append(line, "--"+f.flag+"="+t)
			}
		}
	}
	for name := range maps.Keys(given) {
		return nil, invalid(r.tool, "it takes no argument %q", name)
	}
	return append(line, last...), nil
}

// texts are the words of a value.
func (f field) texts(value json.RawMessage) (texts []string, err error) {
	switch f.kind {
	case words:
		err = json.Unmarshal(value, &texts)
	case number:
		var n int64
		err = json.Unmarshal(value, &n)
		texts = []string{fmt.Sprint(n)}
	case yes:
		var is bool
		err = json.Unmarshal(value, &is)
		texts = []string{fmt.Sprint(is)}
	default:
		texts = []string{""}
		err = json.Unmarshal(value, &texts[0])
	}
	if err == nil && (len(texts) > 100 || slices.ContainsFunc(texts, func(t string) bool { return strings.Contains(t, "\x00") })) {
		err = errors.New("too many")
	}
	return texts, err
}

var errEnough = errors.New("the answer is long enough")

// page is the beginning of what a command prints.
type page struct{ bytes.Buffer }

func (p *page) Write(text []byte) (int, error) {
	if p.Len()+len(text) > answerMost {
		p.Buffer.Write(text[:max(0, answerMost-p.Len())])
		return 0, errEnough
	}
	return p.Buffer.Write(text)
}

// look runs a command that looks, on the database of this session.
func (s *server) look(ctx context.Context, args []string, lines bool) *mcp.CallToolResult {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var stdout, stderr page
	a := &cli.App{Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr, Getenv: s.Getenv}
	global := []string{"--database-url=" + s.DatabaseURL, "--context=" + s.Context, "--data-dir=" + s.DataDir}
	if s.ConfigPath != "" {
		global = append(global, "--config="+s.ConfigPath)
	}
	if !lines {
		global = append(global, "--output=json")
	}
	code := s.run(ctx, a, append(global, args...))
	cut := stdout.Len() == answerMost
	if code != cli.ExitOK && !cut && !(args[0] == "doctor" && code == cli.ExitUnwell) {
		why := strings.TrimPrefix(stderr.String(), "bellhop: ")
		if ctx.Err() != nil {
			why = args[0] + ": no answer within 30 s\n  ask for less"
		}
		r := answered(why)
		r.IsError = true
		return r
	}
	text := cli.Printable(stdout.String())
	if cut {
		const hint = "\n… cut at 64 KiB: ask for less, by limit, states, types or since"
		text = strings.ToValidUTF8(text[:min(len(text), answerMost-len(hint))], "") + hint
	}
	return answered(cmp.Or(text, "nothing: "+cmp.Or(stderr.String(), "no rows")))
}

// object is what a tool was given; nothing is an empty object.
func object(text json.RawMessage) json.RawMessage {
	if len(bytes.TrimSpace(text)) == 0 || string(text) == "null" {
		return json.RawMessage("{}")
	}
	return text
}
