package setup

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"bellhop/cmd/bellhop/internal/cli"
)

// ManCommand writes the man pages of all commands. They are made from the same words as the help, and have no date: two
// builds of one version have the same pages.
func ManCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:     "man FOLDER",
		Short:   "Write the man pages, one for each command",
		Example: "  bellhop man /usr/local/share/man/man1",
		Args:    cobra.ExactArgs(1),
		Hidden:  true,
		RunE: func(c *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return cli.Failed(cli.ExitSystem, "man", "bellhop man FOLDER   # one that may be written to", "%s", err)
			}
			return writePages(c.Root(), args[0])
		},
	}
}

func writePages(c *cobra.Command, dir string) error {
	if c.Hidden || c.Name() == "help" {
		return nil
	}
	for _, s := range c.Commands() {
		if err := writePages(s, dir); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(dir, pageName(c)+".1"), []byte(manPage(c)), 0o644)
}

// pageName is bellhop-workflow-ls for `bellhop workflow ls`.
func pageName(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

// manPage is a command's page, in the words of troff.
func manPage(c *cobra.Command) string {
	var b strings.Builder
	b.WriteString(`.TH "` + strings.ToUpper(pageName(c)) + `" "1" "" "bellhop ` + cli.Version() + `" "bellhop"` + "\n")
	section := func(title, text string) {
		if text = strings.Trim(text, "\n"); text != "" {
			b.WriteString(".SH " + title + "\n" + text + "\n")
		}
	}
	section("NAME", troff(pageName(c)+" - "+c.Short))
	section("SYNOPSIS", ".B "+troff(c.UseLine()))
	section("DESCRIPTION", strings.ReplaceAll(troff(c.Long), "\n\n", "\n.PP\n"))
	if c.HasExample() {
		section("EXAMPLES", ".nf\n"+troff(strings.Trim(c.Example, "\n"))+"\n.fi")
	}
	section("OPTIONS", flagsOf(c.NonInheritedFlags()))
	section("OPTIONS OF ALL COMMANDS", flagsOf(c.InheritedFlags()))
	var also []string
	if c.HasParent() {
		also = append(also, pageName(c.Parent())+"(1)")
	}
	for _, s := range c.Commands() {
		if !s.Hidden && s.Name() != "help" {
			also = append(also, pageName(s)+"(1)")
		}
	}
	section("SEE ALSO", troff(strings.Join(also, ", ")))
	return b.String()
}

func flagsOf(flags *pflag.FlagSet) string {
	var b strings.Builder
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		value, usage := pflag.UnquoteUsage(f)
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		if f.Name == "data-dir" {
			f.DefValue = "" // that of the machine on which the page is made
		}
		if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "[]" && f.DefValue != "0" && f.DefValue != "0s" {
			usage += " (default: " + f.DefValue + ")"
		}
		b.WriteString(".TP\n.B " + troff(strings.TrimSpace(name+" "+value)) + "\n" + troff(usage) + "\n")
	})
	return b.String()
}

// troff keeps text from being taken for requests.
func troff(text string) string {
	text = strings.ReplaceAll(text, `\`, `\e`)
	text = strings.ReplaceAll(text, "-", `\-`)
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
