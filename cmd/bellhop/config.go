package main

import (
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
	c.AddCommand(&cobra.Command{
		Use:     "check",
		Short:   "Find all mistakes in the configuration at once",
		Long:    "Find all mistakes in the configuration at once. Nothing is started and no database is looked for.",
		Example: "  bellhop config check\n  bellhop config check -c /etc/bellhop.yaml",
		Args:    a.noArgs(),
		RunE:    func(*cobra.Command, []string) error { return a.checkConfig() },
	})
	return c
}

func (a *app) checkConfig() error {
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
