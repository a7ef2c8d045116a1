//go:build !unix

package setup

import (
	"context"

	"bellhop/config"
)

// spawnAll starts nothing: no instance serves on this system.
func spawnAll(_ context.Context, c config.Config) (list []spawned) {
	for _, h := range c.Hosts {
		list = append(list, spawned{Host: string(h.Name), Said: "agents are not started on this system: check where bellhop serve runs"})
	}
	return list
}
