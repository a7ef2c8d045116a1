package standin

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// Root is the repository.
func Root() string { return filepath.Dir(filepath.Dir(filepath.Dir(here("")))) }

// Programs builds bellhop and the example app, as the Dockerfile does, into a folder.
func Programs(ctx context.Context, dir string) error {
	_, err := run(ctx, Root(), nil, "env", "CGO_ENABLED=0", "go", "build", "-trimpath", "-buildvcs=false",
		"-ldflags=-s -w", "-o", dir, "./cmd/bellhop", "./compose/shop")
	return err
}

// Own makes an image of this repository's: a target of the Dockerfile on a
// stand-in base, with programs that were built before (Programs) instead of in
// its first stage. FromSource is for that one.
func Own(ctx context.Context, target, programs string) (string, error) {
	base, err := Debian(ctx)
	if err != nil {
		return "", err
	}
	text, err := os.ReadFile(filepath.Join(Root(), "Dockerfile"))
	if err != nil {
		return "", err
	}
	head, rest, found := strings.Cut(string(text), "FROM ${GO_BASE} AS build\n")
	_, rest, ended := strings.Cut(rest, "\n\n")
	if !found || !ended {
		return "", fmt.Errorf("the Dockerfile's first stage is not where it was: mend package standin")
	}
	dir, err := os.MkdirTemp("", "bellhop-image-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	for _, sub := range []string{"compose", "out"} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o755); err != nil {
			return "", err
		}
	}
	if err := copyFiles(filepath.Join(dir, "out"), filepath.Join(programs, "bellhop"),
		filepath.Join(programs, "shop")); err != nil {
		return "", err
	}
	if err := copyFiles(filepath.Join(dir, "compose"), filepath.Join(Root(), "compose", "sshd_config")); err != nil {
		return "", err
	}
	head += "FROM scratch AS build\nCOPY out /out\n\n"
	if err := os.WriteFile(filepath.Join(dir, "Dockerfile"), []byte(head+rest), 0o644); err != nil {
		return "", err
	}
	return build(ctx, target, dir, target, []string{"BASE=" + base})
}

// FromSource makes the same from nothing but the Dockerfile and the source, with
// this machine's Go.
func FromSource(ctx context.Context, target string) (string, error) {
	base, err := Debian(ctx)
	if err != nil {
		return "", err
	}
	compiler, err := Go(ctx)
	if err != nil {
		return "", err
	}
	image := prefix + target + ":from-source"
	_, err = docker(ctx, nil, "build", "-q", "--force-rm", "-t", image, "--target", target,
		"--build-arg", "BASE="+base, "--build-arg", "GO_BASE="+compiler, Root())
	return image, err
}

// certificates is the file of Debian's trusted CAs.
const certificates = "/etc/ssl/certs/ca-certificates.crt"

// Go stands in for golang: this machine's own, which trusts the same CAs as this machine, so that modules come the
// same way.
func Go(ctx context.Context) (string, error) {
	base, err := Debian(ctx)
	if err != nil {
		return "", err
	}
	goroot, err := run(ctx, Root(), nil, "go", "env", "GOROOT")
	if err != nil {
		return "", err
	}
	image := tagged("go", base, runtime.Version())
	if !there(ctx, image) {
		text := "FROM " + base + "\nCOPY . /usr/local/go\nENV PATH=/usr/local/go/bin:/usr/local/bin:/usr/bin:/bin GOTOOLCHAIN=local\n"
		if _, err := docker(ctx, strings.NewReader(text), "build", "-q", "--force-rm", "-t", image, "-f", "-",
			goroot); err != nil {
			return "", err
		}
	}
	dir, err := os.MkdirTemp("", "bellhop-image-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	if err := copyFiles(dir, certificates); err != nil {
		return "", err
	}
	text := "FROM " + image + "\nCOPY ca-certificates.crt " + certificates + "\n"
	if err := os.WriteFile(filepath.Join(dir, "Dockerfile"), []byte(text), 0o644); err != nil {
		return "", err
	}
	return build(ctx, "golang", dir, "", nil)
}
