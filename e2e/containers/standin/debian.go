package standin

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
)

// suite is the release of Debian that nearly everything is made from.
const suite = "bookworm"

// Debian makes an image of the packages without which there is no Debian, as
// debian:*-slim holds, and of those that are named.
func Debian(ctx context.Context, packages ...string) (image string, err error) {
	return release(ctx, suite, packages...)
}

// release is Debian of another release.
func release(ctx context.Context, suite string, packages ...string) (image string, err error) {
	list := strings.Join(packages, ",")
	image = tagged("debian", suite, "minbase", list)
	if there(ctx, image) {
		return image, nil
	}
	if _, err := exec.LookPath("mmdebstrap"); err != nil {
		return "", errors.New("no mmdebstrap here, which makes an image of Debian's packages: install mmdebstrap")
	}
	args := []string{"--mode=root", "--variant=minbase", "--quiet"}
	if list != "" {
		args = append(args, "--include="+list)
	}
	// Files of packages need not be safe from a loss of power here.
	bootstrap := exec.CommandContext(ctx, "mmdebstrap", append(args, "--dpkgopt=force-unsafe-io", suite, "-")...)
	var said strings.Builder
	bootstrap.Stderr = &said
	tar, err := bootstrap.StdoutPipe()
	if err != nil {
		return "", err
	}
	if err := bootstrap.Start(); err != nil {
		return "", err
	}
	// Under a name of its own until it is whole.
	_, err = docker(ctx, tar, "import", "-", image+"-new")
	if err := errors.Join(err, bootstrap.Wait()); err != nil {
		return "", fmt.Errorf("mmdebstrap: %w: %s", err, said.String())
	}
	if _, err := docker(ctx, nil, "tag", image+"-new", image); err != nil {
		return "", err
	}
	_, err = docker(ctx, nil, "rmi", image+"-new")
	return image, err
}
