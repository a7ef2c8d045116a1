// Command dist makes a release of what is checked out: make dist. All that it writes has the time of the commit,
// so that a second run from the same commit writes the same bytes.
//
//	go run . -to ../../dist [-only linux/amd64] [-key FILE]
//
// With -key, a private key of minisign whose password is in BELLHOP_KEY_PASSWORD, SHA256SUMS is signed, and the
// programs know the public key for `bellhop verify`.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"aead.dev/minisign"
)

// release is what one run makes.
type release struct {
	root    string // of the checkout
	to      string
	work    string // files on their way into packages
	version string // 1.2.3, or 0.1.0-dev+TIME.COMMIT
	commit  string
	when    time.Time // of the commit
	key     *minisign.PrivateKey
	only    []string
}

// platforms are those of the archives; packages and the image are for Linux.
var platforms = []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64"}

func main() {
	to := flag.String("to", "dist", "the `folder` to write to")
	only := flag.String("only", strings.Join(platforms, ","), "the `platforms`")
	key := flag.String("key", "", "the private `key` of minisign that signs")
	root := flag.String("root", "../..", "the checkout")
	flag.Parse()
	if err := run(*root, *to, *only, *key); err != nil {
		fmt.Fprintln(os.Stderr, "dist:", err)
		os.Exit(1)
	}
}

func run(root, to, only, key string) error {
	r, err := newRelease(root, to, only, key)
	if err != nil {
		return err
	}
	defer os.RemoveAll(r.work)
	for _, step := range []struct {
		what string
		do   func() error
	}{
		{"programs", r.programs}, {"man pages and completions", r.words}, {"archives", r.archives},
		{"packages", r.packages}, {"image", r.images}, {"chart", r.chart}, {"clients", r.clients},
		{"bill of materials", r.bill}, {"sums", r.sums},
	} {
		began := time.Now()
		if err := step.do(); err != nil {
			return fmt.Errorf("%s: %w", step.what, err)
		}
		fmt.Printf("%-26s %s\n", step.what, time.Since(began).Round(100*time.Millisecond))
	}
	return r.list()
}

func newRelease(root, to, only, key string) (*release, error) {
	r := &release{only: strings.Split(only, ",")}
	var err error
	if r.root, err = filepath.Abs(root); err != nil {
		return nil, err
	}
	if r.to, err = filepath.Abs(to); err != nil {
		return nil, err
	}
	if key != "" {
		private, err := minisign.PrivateKeyFromFile(os.Getenv("BELLHOP_KEY_PASSWORD"), key)
		if err != nil {
			return nil, fmt.Errorf("%s, with the password in BELLHOP_KEY_PASSWORD: %w", key, err)
		}
		r.key = &private
	}
	if r.commit, err = r.git("rev-parse", "--short=12", "HEAD"); err != nil {
		return nil, err
	}
	seconds, err := r.git("log", "-1", "--format=%ct")
	if err != nil {
		return nil, err
	}
	n, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return nil, err
	}
	r.when = time.Unix(n, 0).UTC()
	tag, _ := r.git("describe", "--tags", "--exact-match", "--match", "v[0-9]*") // none: no release
	dirty, err := r.git("status", "--porcelain", "--untracked-files=no")
	if err != nil {
		return nil, err
	}
	r.version = versionOf(tag, r.commit, r.when, dirty != "")
	for _, dir := range []string{r.to} {
		if err := os.RemoveAll(dir); err != nil {
			return nil, err
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, err
		}
	}
	r.work, err = os.MkdirTemp("", "bellhop-dist-")
	return r, err
}

// versionOf is the tag's without its v; between releases it is the next one's, with the time of the commit, so that
// deb and rpm take a later build for the newer one, and with the commit.
func versionOf(tag, commit string, when time.Time, dirty bool) string {
	if tag != "" && !dirty {
		return strings.TrimPrefix(tag, "v")
	}
	v := "0.1.0-dev+" + when.UTC().Format("20060102150405") + "." + commit
	if dirty {
		v += ".dirty"
	}
	return v
}

func (r *release) git(args ...string) (string, error) {
	out, err := r.command(r.root, nil, "git", args...)
	return strings.TrimSpace(out), err
}

// command runs a program, and gives what it prints.
func (r *release) command(dir string, env []string, name string, args ...string) (string, error) {
	c := exec.Command(name, args...)
	c.Dir, c.Env, c.Stderr = dir, append(os.Environ(), env...), os.Stderr
	out, err := c.Output()
	if err != nil {
		err = fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	return string(out), err
}

// program is where a platform's was built.
func (r *release) program(platform string) string {
	return filepath.Join(r.work, strings.ReplaceAll(platform, "/", "_"), "bellhop")
}

// programs builds them: without paths of this machine, without symbols, and with the version.
func (r *release) programs() error {
	module, err := r.command(r.root, nil, "go", "list", "-m")
	if err != nil {
		return err
	}
	cli := strings.TrimSpace(module) + "/cmd/bellhop/internal/cli"
	flags := []string{"-s", "-w", "-buildid="}
	for _, set := range []string{"release=" + r.version, "commit=" + r.commit, "date=" + r.when.Format(time.RFC3339)} {
		flags = append(flags, "-X", cli+"."+set)
	}
	if r.key != nil {
		flags = append(flags, "-X", cli+".ReleaseKey="+r.key.Public().(minisign.PublicKey).String())
	}
	for _, p := range r.only {
		os, arch, ok := strings.Cut(p, "/")
		if !ok {
			return fmt.Errorf("%q is no platform, as linux/amd64 is", p)
		}
		env := []string{"GOOS=" + os, "GOARCH=" + arch, "CGO_ENABLED=0"}
		if _, err := r.command(r.root, env, "go", "build", "-trimpath", "-buildvcs=false",
			"-ldflags="+strings.Join(flags, " "), "-o", r.program(p), "./cmd/bellhop"); err != nil {
			return err
		}
	}
	return nil
}

// words are made by a program that runs here: the first of this system.
func (r *release) words() error {
	own, err := r.command(r.root, nil, "go", "env", "GOHOSTOS", "GOHOSTARCH")
	if err != nil {
		return err
	}
	program := r.program(strings.Join(strings.Fields(own), "/"))
	if _, err := os.Stat(program); err != nil {
		return fmt.Errorf("-only is to name this machine's platform too: its program writes the man pages: %w", err)
	}
	if _, err := r.command(r.work, nil, program, "man", filepath.Join(r.work, "man")); err != nil {
		return err
	}
	for shell, name := range map[string]string{"bash": "bellhop.bash", "zsh": "_bellhop", "fish": "bellhop.fish"} {
		text, err := r.command(r.work, nil, program, "completion", shell)
		if err != nil {
			return err
		}
		if err := r.write("completions/"+name, text); err != nil {
			return err
		}
	}
	unit, err := r.command(r.work, nil, program, "install", "systemd", "--print", "--program", "/usr/bin/bellhop")
	if err != nil {
		return err
	}
	return r.write("bellhop.service", unit)
}

// write puts a file into the work folder.
func (r *release) write(name, text string) error {
	path := filepath.Join(r.work, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o644)
}
