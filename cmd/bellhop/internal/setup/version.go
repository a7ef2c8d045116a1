package setup

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"bellhop/cmd/bellhop/internal/cli"
)

func VersionCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version, and the schema it needs",
		Example: "  bellhop version\n  bellhop version -o json",
		Args:    a.NoArgs(),
		RunE: func(*cobra.Command, []string) error {
			plan, err := cli.Schema()
			if err != nil {
				return err
			}
			if a.JSON() {
				b := cli.Built()
				return a.PrintJSON(struct {
					Version string `json:"version"`
					Commit  string `json:"commit"`
					Date    string `json:"date"`
					Go      string `json:"go"`
					Schema  int    `json:"schema"`
				}{b.Version, b.Commit, b.Date, runtime.Version(), plan.Version()})
			}
			return a.Printf("%s\n",
				fmt.Sprintf("bellhop %s, schema %d, %s %s/%s", cli.Version(), plan.Version(), runtime.Version(), runtime.GOOS,
					runtime.GOARCH))
		},
	}
}
