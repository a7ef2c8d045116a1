package dev

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"bellhop/config"
	"bellhop/scheduler"
	"bellhop/scheduler/workflow"
	"bellhop/sql/view"
)

// The example agents: one that stays up and speaks lines, one that stays up and
// speaks JSON, with progress and a result, and a program that is run for each job.
const (
	greet = `echo OK
while read -r name; do
  sleep 0.2
  echo "LOG hello $name"
  echo OK
done`
	render = `echo '{"bellhop":1,"type":"render"}'
while read -r job; do
  for page in 1 2 3 4 5 6 7 8; do
    sleep 0.4
    echo '{"progress":{"done":'$page',"of":8}}'
  done
  echo '{"result":{"pages":8}}'
  echo '{"ok":true}'
done`
	report = `echo "writing the report of $1"
sleep 1
case "$1" in *7) echo "no space left on /srv/$1" >&2; exit 3;; esac
echo "the report of $1 is written"`
)

func shell(script string) []string { return []string{"/bin/sh", "-c", script, "sh"} }

var agents = []config.Agent{
	{Type: "greet", Command: shell(greet), Mode: config.ModeWarm, Dialect: config.DialectClassic, Max: 2},
	{Type: "render", Command: shell(render), Mode: config.ModeWarm, Dialect: config.DialectJSON, Max: 2},
	{Type: "report", Command: shell(report), Mode: config.ModeExec, Dialect: config.DialectAuto, Max: 2},
}

// fill submits a graph, a query, jobs that need the same lock, one of a type without an agent, and a workflow that
// starts each minute.
func fill(ctx context.Context, conn *pgx.Conn, l view.Look) error {
	text := func(s string) *string { return &s }
	submit := func(s view.Submission) (scheduler.JobID, error) { return l.Submit(ctx, s) }
	fetch, err := submit(view.Submission{Type: "report", Args: text("orders"), Key: text("fetch.orders")})
	if err != nil {
		return err
	}
	var pages []scheduler.JobID
	for _, part := range []string{"cover", "tables", "index"} {
		page := view.Submission{Type: "render", Args: &part, Key: text("render." + part), After: []scheduler.JobID{fetch}}
		id, err := submit(page)
		if err != nil {
			return err
		}
		pages = append(pages, id)
	}
	bind := view.Submission{Type: "report", Args: text("bind"), Key: text("bind"), After: pages}
	if _, err := submit(bind); err != nil {
		return err
	}
	if _, err := conn.Exec(ctx, customers); err != nil {
		return fmt.Errorf("make a table: %w", err)
	}
	query := "select id, name from dev.customer order by id"
	greet := view.Submission{Type: "greet", MSQ: &query, Repeat: text("once"), Key: text("greet.all")}
	if _, err := submit(greet); err != nil {
		return err
	}
	for _, who := range []string{"first", "second", "third"} {
		locked := view.Submission{Type: "render", Args: &who, Locks: []string{"printer:a4=exclusive"}}
		if _, err := submit(locked); err != nil {
			return err
		}
	}
	if _, err := submit(view.Submission{Type: "translate", Args: text("no agent has this type")}); err != nil {
		return err
	}
	return schedule(ctx, l)
}

// customers is a table whose rows are items of a job.
const customers = `create schema dev;
create table dev.customer (id int primary key, name text not null);
insert into dev.customer select g, 'customer ' || g from generate_series(1, 200) g`

// schedule applies the workflow.
func schedule(ctx context.Context, l view.Look) error {
	list, err := config.Workflows(config.File{Name: "dev.yaml", Text: []byte(minutely)})
	if err != nil {
		return err
	}
	for _, d := range list {
		if err := apply(ctx, l, d); err != nil {
			return err
		}
	}
	return nil
}

func apply(ctx context.Context, l view.Look, d workflow.Definition) error {
	body, err := json.Marshal(d)
	if err != nil {
		return err
	}
	_, err = l.ApplyWorkflow(ctx, body, nil)
	return err
}

const minutely = `workflow: minutely
project: dev
active: true
sensor: {cron: "* * * * *", zone: UTC}
steps:
  - {name: collect, type: report, args: "collect"}
  - {name: draw, type: render, args: "charts", after: [collect]}
  - {name: tell, type: greet, args: "team", after: [draw]}
`

// every is how often further jobs come.
const every = 2 * time.Second

// trickle submits until ctx ends.
func trickle(ctx context.Context, l view.Look) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for n := 1; ; n++ {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		args := fmt.Sprintf("visitor %d", n)
		if _, err := l.Submit(ctx, view.Submission{Type: "greet", Args: &args}); err != nil {
			return err
		}
		if n%3 == 0 {
			args := fmt.Sprintf("day-%d", n/3)
			if _, err := l.Submit(ctx, view.Submission{Type: "report", Args: &args}); err != nil {
				return err
			}
		}
	}
}
