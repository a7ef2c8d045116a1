package store

import (
	"context"
	"fmt"

	"bellhop/sql"
)

var (
	lookHostsSQL     = sql.Query("look_hosts")
	lookAgentsSQL    = sql.Query("look_agents")
	lookChildrenSQL  = sql.Query("look_children")
	lookInstancesSQL = sql.Query("look_instances")
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
