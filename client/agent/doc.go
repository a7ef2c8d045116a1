// Package agent is for agents in Go: programs that `bellhop serve` starts, and
// gives jobs.
//
//	type Invoice struct{ Order int64 }
//
//	func main() {
//		err := agent.Serve("invoice", func(ctx context.Context, job *agent.Job[Invoice]) error {
//			job.Logf("order %d", job.Args.Order)
//			return makeInvoice(ctx, job.Args.Order)
//		})
//		if err != nil {
//			log.Fatal(err)
//		}
//	}
//
// It is configured as any other: {type: invoice, command: [./invoice]}. It
// speaks the json dialect of docs/agents.md, which it says by itself. One
// process does one job at a time; bellhop starts more of them.
package agent
