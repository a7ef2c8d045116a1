package demo

import (
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"bellhop/agents/examples/license"
	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/config"
)

// demoHost is the place where the demo's agents run. Its job names it, so that
// another scheduler on a kept database does not take it.
const demoHost = "demo"

// Agent is the word under which this program is the demo's agent. It is
// run like any other agent: as a process that speaks over stdin and stdout.
const Agent = "demo-agent"

func AgentCommand(*cli.App) *cobra.Command {
	return &cobra.Command{
		Use: Agent, Hidden: true, Args: cobra.NoArgs,
		Short: "The license agent of the demo",
		RunE: func(*cobra.Command, []string) error {
			if code := license.Main(); code != 0 {
				return cli.Silent(code)
			}
			return nil
		},
	}
}

// filesPerAgent is how many files it takes to be worth another agent.
const filesPerAgent = 500

// demoConfig is the configuration of the demo's scheduler: one host, and this
// very program as the agent.
func demoConfig(a *cli.App, url string, todo int64) (config.Config, error) {
	program, err := os.Executable()
	if err != nil {
		return config.Config{}, fmt.Errorf("find our own program: %w", err)
	}
	env := map[string]string{"DATABASE_URL": url}
	if a.DatabaseURL != "" { // it may lean on PGPASSFILE and its like, which agents are not given otherwise
		for _, pair := range os.Environ() {
			if name, value, _ := strings.Cut(pair, "="); strings.HasPrefix(name, "PG") {
				env[name] = value
			}
		}
	}
	// Agents wait for the database as much as they compute. A few files are done
	// before a second one is up: it takes about a second of a processor to learn
	// what licences look like.
	n := min(8, 2*runtime.NumCPU(), 1+int(todo/filesPerAgent))
	c := config.Default()
	c.Hosts = []config.Host{{Name: demoHost, Slots: n}}
	c.Agents = []config.Agent{{
		Type: demoType, Command: []string{program, Agent}, Mode: config.ModeWarm, Dialect: config.DialectClassic, Env: env,
	}}
	return c, nil
}
