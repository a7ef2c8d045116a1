package containers

import (
	"context"
	"os/exec"
	"strings"
	"testing"

	"bellhop/e2e/containers/standin"
)

// The Dockerfile as it stands, from the source, makes an image that runs as
// nobody special and says whether it is well.
func TestDockerfile_FromSource(t *testing.T) {
	t.Parallel()
	engine(t)
	image, err := standin.FromSource(t.Context(), "bellhop")
	if err != nil {
		t.Fatal(err)
	}
	// the next run writes it anew
	t.Cleanup(func() { _ = exec.CommandContext(context.Background(), "docker", "rmi", image).Run() })
	inspect := func(format string) string {
		t.Helper()
		out, err := exec.Command("docker", "image", "inspect", "-f", format, image).Output()
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(out))
	}
	if user := inspect("{{.Config.User}}"); user != "10001:10001" {
		t.Errorf("it runs as %q", user)
	}
	if check := inspect("{{.Config.Healthcheck.Test}}"); check != "[CMD bellhop ready]" {
		t.Errorf("its health is checked by %s", check)
	}
	out, err := exec.Command("docker", "run", "--rm", "--network", "none", "--label", label+"="+me, image,
		"version").CombinedOutput()
	if err != nil || !strings.HasPrefix(string(out), "bellhop ") {
		t.Errorf("version: %v\n%s", err, out)
	}
	// ssh is there, and no tool that only a build needs.
	for command, there := range map[string]bool{"ssh": true, "ssh-keygen": true, "go": false, "sshd": false} {
		err := exec.Command("docker", "run", "--rm", "--network", "none", "--label", label+"="+me, "--entrypoint", "sh",
			image, "-c", "command -v "+command).Run()
		if (err == nil) != there {
			t.Errorf("%s: %v", command, err)
		}
	}
}
