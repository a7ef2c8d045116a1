package client

import (
	"context"

	"bellhop/sql/store"
)

// Instances gives the instances that are not known to be dead.
func (c *Client) Instances(ctx context.Context) ([]Instance, error) {
	rows, err := c.look.Instances(ctx)
	return each(rows, func(r store.InstanceRow) Instance {
		return Instance{
			ID:          r.ID,
			Name:        r.Name,
			Hostname:    r.Hostname,
			PID:         r.PID,
			Version:     r.Version,
			State:       r.State,
			StartedAt:   r.StartedAt,
			HeartbeatAt: r.HeartbeatAt,
			Lag:         r.Lag,
			Jobs:        r.Jobs,
		}
	}), explained(ctx, err)
}

// Hosts gives the hosts of those instances.
func (c *Client) Hosts(ctx context.Context) ([]Host, error) {
	rows, err := c.look.Hosts(ctx)
	return each(rows, func(r store.HostRow) Host { return Host(r) }), explained(ctx, err)
}

// Agents gives the agents of those instances.
func (c *Client) Agents(ctx context.Context) ([]Agent, error) {
	rows, err := c.look.Agents(ctx)
	return each(rows, func(r store.AgentRow) Agent { return Agent(r) }), explained(ctx, err)
}

// Children gives the children of those instances.
func (c *Client) Children(ctx context.Context) ([]Child, error) {
	rows, err := c.look.Children(ctx)
	return each(rows, func(r store.ChildRow) Child {
		return Child{
			Instance: r.Instance,
			Host:     r.Host,
			Name:     r.Name,
			Type:     r.Type,
			State:    r.State,
			PID:      r.PID,
			Job:      r.Job,
			Since:    r.Since,
			Done:     r.Done,
			Deaths:   r.Deaths,
		}
	}), explained(ctx, err)
}

// Backlog gives the queue at a glance.
func (c *Client) Backlog(ctx context.Context) ([]Backlog, error) {
	rows, err := c.look.Queue(ctx)
	return each(rows, func(r store.QueueRow) Backlog {
		return Backlog{State: State(r.State), Type: r.Type, Jobs: r.N, Why: r.Why}
	}), explained(ctx, err)
}
