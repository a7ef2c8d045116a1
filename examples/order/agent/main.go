// Command agent makes the invoices that the apps beside it ask for.
//
//	agents:
//	  - {type: invoice, command: [./agent]}
//
// Try it: go build -o /tmp/agent ./examples/order/agent && bellhop agent try --dialect json /tmp/agent 42
package main

import (
	"context"
	"fmt"
	"os"

	"bellhop/client/agent"
)

func invoice(_ context.Context, job *agent.Job[string]) error {
	if job.Args == "" {
		return fmt.Errorf("an invoice is of an order")
	}
	job.Logf("order %s of %s", job.Args, job.Traceparent)
	return nil
}

func main() {
	if err := agent.Serve("invoice", invoice); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
