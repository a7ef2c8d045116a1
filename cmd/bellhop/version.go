package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is what the build knows of itself: a released version, or the commit.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "(devel)"
	}
	v, commit, dirty := info.Main.Version, "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			commit = s.Value[:min(12, len(s.Value))]
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "+dirty"
		}
	}
	if v == "" {
		v = "(devel)"
	}
	if v == "(devel)" && commit != "" {
		v += " " + commit + dirty
	}
	return v
}

func versionCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version, and the schema it needs",
		Example: "  bellhop version",
		Args:    a.noArgs(),
		RunE: func(*cobra.Command, []string) error {
			plan, err := schema()
			if err != nil {
				return err
			}
			if a.json() {
				return a.printJSON(struct {
					Version string `json:"version"`
					Schema  int    `json:"schema"`
					Go      string `json:"go"`
				}{version(), plan.Version(), runtime.Version()})
			}
			return a.printf("%s\n", fmt.Sprintf("bellhop %s, schema %d, %s %s/%s", version(), plan.Version(), runtime.Version(), runtime.GOOS, runtime.GOARCH))
		},
	}
}
