package standin

import (
	"context"
	"fmt"
	"os"
	"sync"
)

// Current is the tag that Stack gives what it has made, and standins.yml names.
const Current = ":current"

// Stack makes every image that docker-compose.yml needs, and tags them as current.
// Grafana is not among them.
func Stack(ctx context.Context) error {
	programs, err := os.MkdirTemp("", "bellhop-programs-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(programs)
	if err := Programs(ctx, programs); err != nil {
		return err
	}
	// The base of several is made once.
	if _, err := Debian(ctx); err != nil {
		return err
	}
	makers := map[string]func(context.Context) (string, error){
		"postgres":   Postgres,
		"prometheus": Prometheus,
		"jaeger":     Jaeger,
	}
	for _, target := range []string{"bellhop", "host", "shop"} {
		makers[target] = func(ctx context.Context) (string, error) { return Own(ctx, target, programs) }
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var all sync.WaitGroup
	for name, maker := range makers {
		all.Go(func() {
			image, err := maker(ctx)
			if err == nil {
				_, err = docker(ctx, nil, "tag", image, prefix+name+Current)
			}
			if err != nil {
				cancel(fmt.Errorf("image %s: %w", name, err))
			}
		})
	}
	all.Wait()
	return context.Cause(ctx)
}
