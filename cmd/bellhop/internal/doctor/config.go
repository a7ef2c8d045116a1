package doctor

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/config"
)

// checkConfig reads the configuration: the one that serve finds from here, or
// that of the serve which runs on this machine.
func (d *doctor) checkConfig() error {
	path, err := d.ConfigFile()
	if err != nil {
		return err
	}
	from := ""
	if path == "" {
		running := servedConfigs()
		if len(running) == 1 {
			path, from = running[0], ", that of the bellhop serve which runs here"
		}
		if len(running) > 1 {
			d.note("configuration", "several bellhop serve run here, with "+strings.Join(running, ", ")+": the defaults are checked", "bellhop doctor -c "+cli.ShellWord(running[0]))
		}
	}
	d.config = config.Default()
	if path == "" {
		if len(d.findings) == 0 {
			d.note("configuration", "there is no "+cli.DefaultConfig+" here: the defaults are checked", "bellhop doctor -c FILE")
		}
		return nil
	}
	if d.config, err = config.Load(path); err != nil {
		return cli.BadConfig(path, err)
	}
	d.ConfigPath = path // the database is found by it too
	d.ok("configuration", fmt.Sprintf("%s%s: %s, %s", path, from, cli.Count(len(d.config.Agents), "agent"),
		cli.Count(len(d.config.Hosts), "host")))
	return nil
}

// servedConfigs are the configurations of the instances that run on this machine
// with this very program, as far as this account may see them.
func servedConfigs() (paths []string) {
	own, err := os.Stat("/proc/self/exe")
	if err != nil {
		return nil
	}
	processes, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil
	}
	for _, dir := range processes {
		if exe, err := os.Stat(filepath.Join(dir, "exe")); err != nil || !os.SameFile(own, exe) ||
			filepath.Base(dir) == strconv.Itoa(os.Getpid()) {
			continue
		}
		line, err := os.ReadFile(filepath.Join(dir, "cmdline"))
		if err != nil {
			continue
		}
		environment, _ := os.ReadFile(filepath.Join(dir, "environ")) // without it the others are looked at
		cwd, _ := os.Readlink(filepath.Join(dir, "cwd"))
		path := servedConfig(strings.Split(strings.TrimSuffix(string(line), "\x00"), "\x00"),
			strings.Split(string(environment), "\x00"), cwd)
		if _, err := os.Stat(path); path != "" && err == nil && !slices.Contains(paths, path) {
			paths = append(paths, path)
		}
	}
	return paths
}

// servedConfig is the configuration of a process, by how it was called and
// where; empty: it is no `bellhop serve`.
func servedConfig(args, environment []string, cwd string) string {
	if !slices.Contains(args, "serve") {
		return ""
	}
	path := cli.DefaultConfig
	for _, pair := range environment {
		if value, is := strings.CutPrefix(pair, cli.ConfigVariable+"="); is && value != "" {
			path = value
		}
	}
	for i, arg := range args {
		value, joined := strings.CutPrefix(arg, "--config=")
		short, glued := strings.CutPrefix(arg, "-c")
		switch {
		case joined:
			path = value
		case (arg == "-c" || arg == "--config") && i+1 < len(args):
			path = args[i+1]
		case glued && short != "":
			path = strings.TrimPrefix(short, "=")
		}
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(cwd, path)
	}
	return path
}
