package agentkit

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/config"
)

// templates are agents that run as they are. TYPE stands for the type. The one
// in Go has another ending, since it is no part of this module.
//
//go:embed templates
var templates embed.FS

// language is one that an agent can be begun in.
type language struct {
	name, template, file string
	run                  string // what configuration and `agent check` name
	build                string // what is to be typed before that; may be empty
}

var languages = []language{
	{"go", "agent.go.txt", "agent.go", "./agent", "go build -o agent agent.go"},
	{"python", "agent.py", "agent.py", "./agent.py", ""},
	{"node", "agent.js", "agent.js", "./agent.js", ""},
	{"bash", "agent.sh", "agent.sh", "./agent.sh", ""},
}

func languageNames() []string {
	names := make([]string, len(languages))
	for i, l := range languages {
		names[i] = l.name
	}
	return names
}

func agentNewCommand(a *cli.App) *cobra.Command {
	var typ string
	c := &cobra.Command{
		Use:   "new go|python|node|bash [DIR]",
		Short: "Write a first agent: one file, with only the language's own library",
		Long: `Writes one file into a folder (default: this one), makes the folder if needed, and
prints the next commands. The file is a working agent in the json dialect: it logs,
reports progress, returns a result, fails for good, puts a job off, stops on cancel,
and passes on the trace. An existing file stays.`,
		Example:   "  bellhop agent new python invoices --type invoice",
		ValidArgs: languageNames(),
		Args: a.Args(func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) == 0:
				return fmt.Errorf("in which language? One of %s", strings.Join(languageNames(), ", "))
			case len(args) > 2:
				return fmt.Errorf("it takes a language and a folder, got %d words", len(args))
			}
			return nil
		}),
		RunE: func(_ *cobra.Command, args []string) error {
			dir := "."
			if len(args) == 2 {
				dir = args[1]
			}
			return newAgent(a, args[0], dir, typ)
		},
	}
	c.Flags().StringVar(&typ, "type", "hello", "the `type` of its jobs")
	return c
}

// newAgent writes the file, and says how to go on.
func newAgent(a *cli.App, name, dir, typ string) error {
	var lang language
	for _, l := range languages {
		if l.name == name {
			lang = l
		}
	}
	if lang.name == "" {
		return cli.Usage("agent new",
			fmt.Sprintf("there is no template for %q, only for %s", name, strings.Join(languageNames(), ", ")),
			"bellhop agent new bash; for any other language docs/agents.md has the protocol")
	}
	entry := fmt.Sprintf("{type: %s, command: [%s]}", typ, lang.run)
	if _, err := config.Parse("--type", []byte("agents:\n  - "+entry)); err != nil {
		return cli.Usage("agent new", fmt.Sprintf("--type %q cannot be the name of a type", typ), "bellhop agent new "+name+" --type invoice")
	}
	text, err := templates.ReadFile("templates/" + lang.template)
	if err != nil {
		return err
	}
	path := filepath.Join(dir, lang.file)
	if err := place(path, strings.ReplaceAll(string(text), "TYPE", typ)); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return cli.Failed(cli.ExitState, "agent new", fmt.Sprintf("bellhop agent new %s ANOTHER-FOLDER", name), "%s is there already", path)
		}
		return err
	}
	if a.JSON() {
		return a.PrintJSON(map[string]string{"file": path, "type": typ, "command": lang.run, "build": lang.build})
	}
	next := []string{"cd " + cli.ShellWord(dir), lang.build, "bellhop agent check " + lang.run,
		"bellhop agent try " + lang.run + " 'some words'"}
	if dir == "." {
		next[0] = ""
	}
	said := path + "\n"
	for _, line := range next {
		if line != "" {
			said += "  " + line + "\n"
		}
	}
	return a.Printf("%sin bellhop.yaml, under agents:\n  - %s\n", said, entry)
}

// place writes a program where there is nothing yet.
func place(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o777)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}
