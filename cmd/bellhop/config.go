package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"bellhop/config"
)

func configCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:     "config",
		Short:   "Check the configuration",
		Example: "  bellhop config check -c bellhop.yaml",
	}
	a.menu(c)
	var spawn bool
	check := &cobra.Command{
		Use:   "check",
		Short: "Find all mistakes in the configuration at once",
		Long: `Find all mistakes in the configuration at once. Nothing is started and no database is looked for.

With --spawn each agent is started once on each host, as bellhop serve would, and ended when it has said OK. An agent
of mode exec is only looked for, since to start it is to run it.`,
		Example: "  bellhop config check\n  bellhop config check --spawn -c /etc/bellhop.yaml",
		Args:    a.noArgs(),
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.checkConfig(cmd.Context(), spawn) },
	}
	check.Flags().BoolVar(&spawn, "spawn", false, "start each agent once on each host")
	c.AddCommand(check)
	return c
}

func (a *app) checkConfig(ctx context.Context, spawn bool) error {
	path, err := a.configFile()
	if err != nil {
		return err
	}
	if path == "" {
		return usage("configuration", "there is no "+defaultConfig+" here", "bellhop config check -c FILE")
	}
	c, err := config.Load(path)
	if err != nil {
		// Problems have a line each: this is a list, not a sentence.
		return usage("configuration", err.Error(), "mend "+path+", then: bellhop config check -c "+path)
	}
	if spawn {
		return a.printFindings(path, spawnAll(ctx, c))
	}
	if a.json() {
		return a.printJSON(struct {
			OK     bool `json:"ok"`
			Agents int  `json:"agents"`
			Hosts  int  `json:"hosts"`
		}{true, len(c.Agents), len(c.Hosts)})
	}
	return a.printf("ok: %s, %s\n", count(len(c.Agents), "agent"), count(len(c.Hosts), "host"))
}

// count is a number with its noun.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
