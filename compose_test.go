package bellhop_test

import (
	"os"
	"testing"

	"github.com/goccy/go-yaml"
)

// Each service of docker-compose.yml is started again when it fails, but what is done once.
func TestCompose_ServicesAreStartedAgain(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("docker-compose.yml")
	if err != nil {
		t.Fatal(err)
	}
	var stack struct {
		Services map[string]struct {
			Restart string `yaml:"restart"`
		} `yaml:"services"`
	}
	if err := yaml.Unmarshal(text, &stack); err != nil {
		t.Fatal(err)
	}
	if len(stack.Services) < 5 {
		t.Fatalf("it has %d services", len(stack.Services))
	}
	for name, s := range stack.Services {
		if name != "keys" && s.Restart != "on-failure" && s.Restart != "unless-stopped" && s.Restart != "always" {
			t.Errorf("%s is not started again: restart is %q", name, s.Restart)
		}
	}
}
