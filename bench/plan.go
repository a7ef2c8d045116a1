package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"bellhop/sql"
)

// claims are the statements with which bellhop claims.
var claims = map[string]string{"claim": sql.Query("claim"), "claim_many": sql.Query("claim_many")}

// claimPlan asserts that every statement with which bellhop claims keeps to an
// index of the queue, as it is planned in this database now: with the generic
// plan, and the settings of the connection that claims.
func (s *session) claimPlan(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, s.db.url)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	if _, err := conn.Exec(ctx, "set enable_seqscan = off; set enable_bitmapscan = off; set plan_cache_mode = force_generic_plan"); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(claims)) {
		text := comment.ReplaceAllString(claims[name], "")
		if _, err := conn.Exec(ctx, "prepare "+name+" as "+text); err != nil {
			return fmt.Errorf("prepare %s: %w", name, err)
		}
		var plan string
		nulls := strings.TrimSuffix(strings.Repeat("null, ", parameters(text)), ", ")
		if err := conn.QueryRow(ctx, "explain (costs off, format json) execute "+name+" ("+nulls+")",
			pgx.QueryExecModeSimpleProtocol).Scan(&plan); err != nil {
			return fmt.Errorf("explain %s: %w", name, err)
		}
		indexes, err := queueIndexes(plan)
		if err != nil {
			return fmt.Errorf("%s: %w: %s", name, err, plan)
		}
		s.b.say("        %s is planned on %s", name, strings.Join(indexes, ", "))
	}
	return nil
}

var (
	comment   = regexp.MustCompile(`(?m)--.*$`)
	parameter = regexp.MustCompile(`\$(\d+)`)
)

// parameters is how many parameters a statement has.
func parameters(text string) (n int) {
	for _, m := range parameter.FindAllStringSubmatch(text, -1) {
		if i, err := strconv.Atoi(m[1]); err == nil {
			n = max(n, i)
		}
	}
	return n
}

// queueIndexes gives the indexes by which a plan reads jobqueue. That it reads
// jobqueue in another way, or not at all, is an error.
func queueIndexes(plan string) (indexes []string, err error) {
	type node struct {
		Type     string `json:"Node Type"`
		Relation string `json:"Relation Name"`
		Index    string `json:"Index Name"`
		Plans    []node
	}
	var top []struct{ Plan node }
	if err := json.Unmarshal([]byte(plan), &top); err != nil {
		return nil, err
	}
	var walk func(node)
	walk = func(n node) {
		switch {
		case n.Relation != "jobqueue" || n.Type == "ModifyTable":
		case n.Index == "":
			err = fmt.Errorf("the plan of the claim reads the queue by a %s", n.Type)
		case !slices.Contains(indexes, n.Index):
			indexes = append(indexes, n.Index)
		}
		for _, p := range n.Plans {
			walk(p)
		}
	}
	for _, t := range top {
		walk(t.Plan)
	}
	if err == nil && len(indexes) == 0 {
		err = errors.New("the plan of the claim does not read the queue")
	}
	return indexes, err
}

// sequentialScans is how often the whole queue was read so far, by whomever.
func (s *session) sequentialScans(ctx context.Context) (n int64, err error) {
	err = s.conn.QueryRow(ctx, "select seq_scan from pg_stat_user_tables where schemaname = 'bellhop' and relname = 'jobqueue'").Scan(&n)
	return n, err
}
