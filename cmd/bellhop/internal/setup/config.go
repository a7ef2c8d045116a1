package setup

import (
	"context"

	"github.com/spf13/cobra"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/config"
)

func ConfigCommand(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use:     "config",
		Short:   "Check the configuration",
		Example: "  bellhop config check -c bellhop.yaml",
	}
	a.Menu(c)
	var spawn bool
	check := &cobra.Command{
		Use:   "check",
		Short: "Find all mistakes in the configuration at once",
		Long: `Find all mistakes in the configuration at once. It starts nothing, and needs no database.

With --spawn each agent is started once on each host, as bellhop serve would, and ended when it has said OK. For an
agent of mode exec the check only finds its program, since its start would be a run.`,
		Example: "  bellhop config check\n  bellhop config check --spawn -c /etc/bellhop.yaml",
		Args:    a.NoArgs(),
		RunE:    func(cmd *cobra.Command, _ []string) error { return checkConfig(cmd.Context(), a, spawn) },
	}
	check.Flags().BoolVar(&spawn, "spawn", false, "start each agent once on each host")
	c.AddCommand(check)
	return c
}

func checkConfig(ctx context.Context, a *cli.App, spawn bool) error {
	path, err := a.ConfigFile()
	if err != nil {
		return err
	}
	if path == "" {
		return cli.Usage("configuration", "there is no "+cli.DefaultConfig+" here", "bellhop config check -c FILE   with the name of yours")
	}
	c, err := config.Load(path)
	if err != nil {
		// Problems have a line each: this is a list, not a sentence.
		return cli.Usage("configuration", err.Error(), "fix "+path+", then: bellhop config check -c "+path)
	}
	remarks := c.Remarks()
	for _, r := range remarks {
		a.Note("remark: %s", r)
	}
	if spawn {
		return printFindings(a, path, spawnAll(ctx, c))
	}
	if a.JSON() {
		return a.PrintJSON(struct {
			OK      bool     `json:"ok"`
			Agents  int      `json:"agents"`
			Hosts   int      `json:"hosts"`
			Remarks []string `json:"remarks"`
		}{true, len(c.Agents), len(c.Hosts), append([]string{}, remarks...)})
	}
	return a.Printf("ok: %s, %s\n", cli.Count(len(c.Agents), "agent"), cli.Count(len(c.Hosts), "host"))
}
