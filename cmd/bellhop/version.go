package main

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// built is what the build knows of itself; the commit is empty where it does not.
func built() (version, commit string) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "(devel)", ""
	}
	dirty := ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			commit = s.Value[:min(12, len(s.Value))]
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "+dirty"
		}
	}
	if commit != "" {
		commit += dirty
	}
	return cmp.Or(info.Main.Version, "(devel)"), commit
}

// version is a released version, or the commit.
func version() string {
	v, commit := built()
	if v == "(devel)" && commit != "" {
		v += " " + commit
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
