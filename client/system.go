package client

import "context"

// Instances gives the instances that are not known to be dead.
func (c *Client) Instances(ctx context.Context) ([]Instance, error) {
	rows, err := c.look.Instances(ctx)
	return rows, explained(ctx, err)
}

// Hosts gives the hosts of those instances.
func (c *Client) Hosts(ctx context.Context) ([]Host, error) {
	rows, err := c.look.Hosts(ctx)
	return rows, explained(ctx, err)
}

// Agents gives the agents of those instances.
func (c *Client) Agents(ctx context.Context) ([]Agent, error) {
	rows, err := c.look.Agents(ctx)
	return rows, explained(ctx, err)
}

// Children gives the children of those instances.
func (c *Client) Children(ctx context.Context) ([]Child, error) {
	rows, err := c.look.Children(ctx)
	return rows, explained(ctx, err)
}

// Backlog gives the queue at a glance.
func (c *Client) Backlog(ctx context.Context) ([]Backlog, error) {
	rows, err := c.look.Queue(ctx)
	return rows, explained(ctx, err)
}
