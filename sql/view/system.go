package view

import (
	"context"

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
	return collect[HostRow](ctx, l.db, "list hosts", lookHostsSQL)
}

// Agents gives the agents of live instances.
func (l Look) Agents(ctx context.Context) ([]AgentRow, error) {
	return collect[AgentRow](ctx, l.db, "list agents", lookAgentsSQL)
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
	}](ctx, l.db, "read the last words of agents", lookWordsSQL)
	if err != nil {
		return nil, err
	}
	words := make(map[AgentKey]map[string]string, len(rows))
	for _, r := range rows {
		words[r.AgentKey] = r.Words
	}
	return words, nil
}

// Children gives the children of live instances.
func (l Look) Children(ctx context.Context) ([]ChildRow, error) {
	return collect[ChildRow](ctx, l.db, "list children", lookChildrenSQL)
}

// Instances gives the live instances.
func (l Look) Instances(ctx context.Context) ([]InstanceRow, error) {
	return collect[InstanceRow](ctx, l.db, "list instances", lookInstancesSQL)
}

// Listening tells where a live instance of a machine answers: the one that does at the liked address, else the one
// that came last; empty: none does.
func (l Look) Listening(ctx context.Context, machine, hostname, liked string) (string, error) {
	return value[string](ctx, l.db, "look where instances answer", lookListeningSQL, machine, hostname, liked)
}

// Stats gives what each type has done. It reads the whole queue.
func (l Look) Stats(ctx context.Context) ([]StatsRow, error) {
	return collect[StatsRow](ctx, l.db, "count jobs", lookStatsSQL)
}

// Queue gives the queue at a glance, without reading what is over.
func (l Look) Queue(ctx context.Context) ([]QueueRow, error) {
	return collect[QueueRow](ctx, l.db, "look at the queue", lookQueueSQL)
}
