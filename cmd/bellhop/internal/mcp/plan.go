package mcp

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/sql/view"
	"bellhop/verb"
)

// A plan can be carried out once, for as long as it lives. This many are kept.
const (
	planLives = 10 * time.Minute
	plansMost = 100
)

// plan is what a tool was asked to do, and what it would have done.
type plan struct {
	token, tool string
	asked       asked
	out         verb.Out
	made        time.Time
}

type plans struct {
	mu   sync.Mutex
	list []plan
}

func (p *plans) keep(c change, q asked, out verb.Out) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	made := plan{rand.Text(), c.tool, q, out, time.Now()}
	p.list = append(p.list, made)
	p.list = p.list[max(0, len(p.list)-plansMost):]
	return made.token
}

// take gives a plan, once. Whatever else the call says has to be what the plan was made for.
func (p *plans) take(c change, q asked) (plan, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.IndexFunc(p.list, func(p plan) bool { return p.token == q.Confirm })
	again := "call " + c.tool + " without confirm   makes a plan"
	if i < 0 || time.Since(p.list[i].made) > planLives {
		return plan{}, cli.Failed(cli.ExitState, c.tool, again, "there is no such plan: it was carried out, or it is older than 10 minutes")
	}
	found := p.list[i]
	if found.tool != c.tool {
		return plan{}, cli.Failed(cli.ExitUsage, c.tool, again, "this is a plan of %s", found.tool)
	}
	if q.Confirm = ""; !reflect.DeepEqual(q, asked{}) && !reflect.DeepEqual(q, found.asked) {
		return plan{}, cli.Failed(cli.ExitUsage, c.tool, again, "the plan was made for other arguments")
	}
	p.list = slices.Delete(p.list, i, i+1)
	return found, nil
}

// read reads a call: every argument is one of the tool's, and of its kind.
func (c change) read(text json.RawMessage) (q asked, err error) {
	given := map[string]json.RawMessage{}
	if err := json.Unmarshal(text, &given); err != nil {
		return q, invalid(c.tool, "its arguments are no JSON object")
	}
	for name := range given {
		if name != confirm.name && !slices.ContainsFunc(c.fields, func(f field) bool { return f.name == name }) {
			return q, invalid(c.tool, "it takes no argument %q", name)
		}
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&q); err != nil {
		return q, invalid(c.tool, "%v", err)
	}
	if q.Confirm == "" {
		for _, f := range c.fields[:c.needs] {
			if v := string(given[f.name]); v == "" || v == "null" || v == `""` || v == "[]" {
				return q, invalid(c.tool, "%s is missing: %s", f.name, f.says)
			}
		}
	}
	return q, nil
}

// answer is what a change says: of a plan, what would become.
type answer struct {
	Plan     string        `json:"plan,omitempty"`
	Done     bool          `json:"done"`
	Does     string        `json:"does"`
	Database string        `json:"database"`
	Changed  int           `json:"changed"`
	Jobs     []view.Change `json:"jobs,omitempty"` // as they would be, or are now
	ID       int64         `json:"id,omitempty"`   // of what was made
	State    string        `json:"state,omitempty"`
	Was      bool          `json:"already"` // it was so already
	Line     string        `json:"command"`
	Note     string        `json:"note,omitempty"`
	Next     string        `json:"next,omitempty"`
}

func (c change) answer(_ asked, out verb.Out, where *pgx.ConnConfig) answer {
	return answer{Does: c.says, Changed: out.N, Jobs: out.Jobs, ID: out.ID, State: out.Name, Line: c.line,
		Was:      len(out.Jobs) > 0 && out.N == 0,
		Database: fmt.Sprintf("%s on %s:%d as %s", cmp.Or(where.Database, where.User), where.Host, where.Port, where.User)}
}
