package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"bellhop/scheduler"
	"bellhop/sql"
)

var (
	lookHostsSQL     = sql.Query("look_hosts")
	lookAgentsSQL    = sql.Query("look_agents")
	lookWordsSQL     = sql.Query("look_agent_words")
	lookChildrenSQL  = sql.Query("look_children")
	lookInstancesSQL = sql.Query("look_instances")
	lookListeningSQL = sql.Query("look_listening")
	lookStatsSQL     = sql.Query("look_stats")
	lookQueueSQL     = sql.Query("look_queue")
)

// Hosts gives the hosts of live instances.
func (l Look) Hosts(ctx context.Context) ([]HostRow, error) {
	hosts, err := collect[HostRow](ctx, l.db, lookHostsSQL)
	if err != nil {
		return nil, fmt.Errorf("list hosts: %w", err)
	}
	return hosts, nil
}

// Agents gives the agents of live instances.
func (l Look) Agents(ctx context.Context) ([]AgentRow, error) {
	agents, err := collect[AgentRow](ctx, l.db, lookAgentsSQL)
	if err != nil {
		return nil, fmt.Errorf("list agents: %w", err)
	}
	return agents, nil
}

// AgentKey is the agent of a type on one instance.
type AgentKey struct {
	Instance int64
	Type     scheduler.TypeName
}

// AgentWords gives what agents that do not come up said last, by host. Readers
// get the error code 42501.
func (l Look) AgentWords(ctx context.Context) (map[AgentKey]map[string]string, error) {
	rows, err := collect[struct {
		AgentKey
		Words map[string]string
	}](ctx, l.db, lookWordsSQL)
	if err != nil {
		return nil, fmt.Errorf("read the last words of agents: %w", err)
	}
	words := make(map[AgentKey]map[string]string, len(rows))
	for _, r := range rows {
		words[r.AgentKey] = r.Words
	}
	return words, nil
}

// Children gives the children of live instances.
func (l Look) Children(ctx context.Context) ([]ChildRow, error) {
	children, err := collect[ChildRow](ctx, l.db, lookChildrenSQL)
	if err != nil {
		return nil, fmt.Errorf("list children: %w", err)
	}
	return children, nil
}

// Instances gives the live instances.
func (l Look) Instances(ctx context.Context) ([]InstanceRow, error) {
	instances, err := collect[InstanceRow](ctx, l.db, lookInstancesSQL)
	if err != nil {
		return nil, fmt.Errorf("list instances: %w", err)
	}
	return instances, nil
}

// Listening tells where a live instance of a machine answers: the one that does at the liked address, else the one
// that came last; empty: none does.
func (l Look) Listening(ctx context.Context, machine, hostname, liked string) (string, error) {
	list, err := l.db.Query(ctx, lookListeningSQL, machine, hostname, liked)
	if err != nil {
		return "", fmt.Errorf("look where instances answer: %w", err)
	}
	at, err := pgx.CollectExactlyOneRow(list, pgx.RowTo[string])
	if errors.Is(err, pgx.ErrNoRows) {
		return "", nil
	}
	return at, err
}

// Stats gives what each type has done. It reads the whole queue.
func (l Look) Stats(ctx context.Context) ([]StatsRow, error) {
	stats, err := collect[StatsRow](ctx, l.db, lookStatsSQL)
	if err != nil {
		return nil, fmt.Errorf("count jobs: %w", err)
	}
	return stats, nil
}

// Queue gives the queue at a glance, without reading what is over.
func (l Look) Queue(ctx context.Context) ([]QueueRow, error) {
	queue, err := collect[QueueRow](ctx, l.db, lookQueueSQL)
	if err != nil {
		return nil, fmt.Errorf("look at the queue: %w", err)
	}
	return queue, nil
}
