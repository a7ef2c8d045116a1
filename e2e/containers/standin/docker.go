package standin

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// prefix is before the name of everything made here.
const prefix = "bellhop-test/"

// Engine says why no engine for containers can be used here; nil: one can.
func Engine(ctx context.Context) error {
	if _, err := exec.LookPath("docker"); err != nil {
		return errors.New("no docker here: install docker.io and docker-compose")
	}
	if _, err := docker(ctx, nil, "info", "-f", "{{.ServerVersion}}"); err != nil {
		return fmt.Errorf("docker is here, and its engine does not answer (service docker start): %w", err)
	}
	return nil
}

// docker runs the client, and gives what it printed.
func docker(ctx context.Context, stdin io.Reader, args ...string) (string, error) {
	return run(ctx, "", stdin, "docker", args...)
}

// run runs a program, and gives its stdout. Its last words are in the error.
func run(ctx context.Context, dir string, stdin io.Reader, program string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.Stdin = dir, stdin
	cmd.Env = append(os.Environ(), "DOCKER_BUILDKIT=0") // the one builder that every engine has
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		said := strings.TrimSpace(stdout.String() + stderr.String())
		return "", fmt.Errorf("%s %s: %w: %s", program, strings.Join(args, " "), err, said[max(0, len(said)-2000):])
	}
	return strings.TrimSpace(stdout.String()), nil
}

// there reports whether an image is.
func there(ctx context.Context, image string) bool {
	_, err := docker(ctx, nil, "image", "inspect", "-f", "{{.Id}}", image)
	return err == nil
}

// tagged is the name of an image made from these parts.
func tagged(name string, parts ...string) string {
	sum := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(sum, "%d %s", len(p), p)
	}
	return prefix + name + ":" + hex.EncodeToString(sum.Sum(nil))[:12]
}

// build makes an image from a folder with a Dockerfile, unless it is there. The
// further parts are what else its content depends on.
func build(ctx context.Context, name, dir, target string, args []string, parts ...string) (string, error) {
	content, err := digest(dir)
	if err != nil {
		return "", err
	}
	image := tagged(name, append(append([]string{content, target}, args...), parts...)...)
	if there(ctx, image) {
		return image, nil
	}
	line := []string{"build", "-q", "--force-rm", "-t", image}
	if target != "" {
		line = append(line, "--target", target)
	}
	for _, a := range args {
		line = append(line, "--build-arg", a)
	}
	_, err = docker(ctx, nil, append(line, dir)...)
	return image, err
}

// digest is that of all files of a folder, their names and modes.
func digest(dir string) (string, error) {
	sum := sha256.New()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		file, err := os.Open(path)
		if err != nil {
			return err
		}
		defer func() { _ = file.Close() }() // it was only read
		name, _ := filepath.Rel(dir, path)
		fmt.Fprintf(sum, "%s %o %d\n", name, info.Mode().Perm()&0o100, info.Size())
		_, err = io.Copy(sum, file)
		return err
	})
	return hex.EncodeToString(sum.Sum(nil)), err
}
