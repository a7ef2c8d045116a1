package containers

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/goccy/go-yaml"

	"bellhop/e2e/containers/standin"
)

func read(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(standin.Root(), name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// What the tests run is the stack that users run: of each service, the stand-ins
// change the image and nothing else, and only Grafana has none.
func TestStandins_ChangeImagesOnly(t *testing.T) {
	t.Parallel()
	var stack, standins struct {
		Services map[string]map[string]any `yaml:"services"`
	}
	for name, into := range map[string]any{"docker-compose.yml": &stack, "e2e/containers/standins.yml": &standins} {
		if err := yaml.Unmarshal(read(t, name), into); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	pinned := regexp.MustCompile(`:(v?[0-9]+\.[0-9.]+|dev)$`)
	for name, service := range stack.Services {
		image, _ := service["image"].(string)
		if !pinned.MatchString(image) {
			t.Errorf("%s runs %q, which is no fixed version", name, image)
		}
		if has := standins.Services[name] != nil; has == (name == "grafana") {
			t.Errorf("%s has a stand-in: %v", name, has)
		}
	}
	for name, service := range standins.Services {
		if stack.Services[name] == nil {
			t.Errorf("there is no service %s", name)
		}
		if _, is := service["image"]; !is || len(service) != 1 {
			t.Errorf("the stand-in of %s changes %v", name, service)
		}
	}
}

var metric = regexp.MustCompile(`\bbellhop_[a-z_]+`)

// drawn are the metrics that the dashboard draws, without what a histogram adds.
func drawn(t *testing.T) (names []string) {
	t.Helper()
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(read(t, "compose/grafana/dashboards/bellhop.json"), &dashboard); err != nil {
		t.Fatal(err)
	}
	for _, p := range dashboard.Panels {
		if len(p.Targets) == 0 {
			t.Errorf("panel %q draws nothing", p.Title)
		}
		for _, target := range p.Targets {
			for _, name := range metric.FindAllString(target.Expr, -1) {
				names = append(names, regexp.MustCompile(`_(bucket|count)$`).ReplaceAllString(name, ""))
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func TestDashboard_DrawsMetrics(t *testing.T) {
	t.Parallel()
	if names := drawn(t); len(names) < 5 {
		t.Errorf("the dashboard draws %q", names)
	}
}
