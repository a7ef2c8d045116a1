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
		Example: "  bellhop version",
		Args:    a.NoArgs(),
		RunE: func(*cobra.Command, []string) error {
			plan, err := cli.Schema()
			if err != nil {
				return err
			}
			if a.JSON() {
				return a.PrintJSON(struct {
					Version string `json:"version"`
					Schema  int    `json:"schema"`
					Go      string `json:"go"`
				}{cli.Version(), plan.Version(), runtime.Version()})
			}
			return a.Printf("%s\n",
				fmt.Sprintf("bellhop %s, schema %d, %s %s/%s", cli.Version(), plan.Version(), runtime.Version(), runtime.GOOS,
					runtime.GOARCH))
		},
	}
}
