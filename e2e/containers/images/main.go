// Command images makes what stands in for the stack's public images, so that
// docker-compose.yml can be tried where none can be pulled.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	"bellhop/e2e/containers/standin"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := standin.Engine(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if err := standin.Stack(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println("docker-compose -f docker-compose.yml -f e2e/containers/standins.yml up")
}
