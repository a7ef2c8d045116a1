package setup

import (
	"fmt"
	"strings"

	"bellhop/cmd/bellhop/internal/cli"
)

// spawned is what became of one agent on one host.
type spawned struct {
	Host string `json:"host"`
	Type string `json:"type"` // empty: of the host itself
	OK   bool   `json:"ok"`
	Said string `json:"said"` // in words
}

// printFindings prints them; the error is that some are bad.
func printFindings(a *cli.App, path string, list []spawned) error {
	bad := 0
	for _, v := range list {
		if !v.OK {
			bad++
		}
	}
	if a.JSON() {
		if err := a.PrintJSON(struct {
			OK       bool      `json:"ok"`
			Verdicts []spawned `json:"verdicts"`
		}{bad == 0, list}); err != nil {
			return err
		}
	} else {
		t := cli.Table{Header: []string{"HOST", "TYPE", "VERDICT", "WHY"}}
		for _, v := range list {
			word := "ok"
			if !v.OK {
				word = "FAILS"
			}
			t.Add(v.Host, v.Type, word, strings.ReplaceAll(v.Said, "\n", "; "))
		}
		if err := a.PrintTable(t); err != nil {
			return err
		}
	}
	if bad > 0 {
		return cli.Usage("configuration", cli.Count(bad, "verdict")+" of "+fmt.Sprint(len(list))+" bad: these would fail under bellhop serve too",
			"fix it, then: bellhop config check --spawn -c "+path)
	}
	return nil
}
