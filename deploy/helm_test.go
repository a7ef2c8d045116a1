package deploy

import (
	"bytes"
	"encoding/json"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"text/template"

	"sigs.k8s.io/yaml"

	"bellhop/config"
)

// rendered is the chart's one template with these values, and stand-ins for helm's functions. Helm itself is not run.
func rendered(t *testing.T, release string, values map[string]any) []byte {
	t.Helper()
	text, err := os.ReadFile("helm/templates/bellhop.yaml")
	if err != nil {
		t.Fatal(err)
	}
	made, err := template.New("bellhop.yaml").Option("missingkey=error").Funcs(template.FuncMap{
		"quote": func(v any) string { return strconv.Quote(v.(string)) },
		"toJson": func(v any) (string, error) {
			b, err := json.Marshal(v)
			return string(b), err
		},
		"indent": func(n int, text string) string {
			pad := strings.Repeat(" ", n)
			return pad + strings.ReplaceAll(text, "\n", "\n"+pad)
		},
	}).Parse(string(text))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := made.Execute(&b, map[string]any{"Values": values, "Release": map[string]any{"Name": release}}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// objects are the documents of a file, by kind.
func objects(t *testing.T, text []byte) map[string]map[string]any {
	t.Helper()
	all := map[string]map[string]any{}
	for _, d := range bytes.Split(text, []byte("\n---\n")) {
		var object map[string]any
		if err := yaml.Unmarshal(d, &object); err != nil {
			t.Fatalf("%v\n%s", err, d)
		}
		all[object["kind"].(string)] = object
	}
	return all
}

// TestHelm_ChartIsTheManifests: with the values that it comes with, the chart is what `kubectl apply -f` takes, which
// another test reads as Kubernetes' own types.
func TestHelm_ChartIsTheManifests(t *testing.T) {
	t.Parallel()
	var values map[string]any
	text, err := os.ReadFile("helm/values.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(text, &values); err != nil {
		t.Fatal(err)
	}
	plain, err := os.ReadFile("kubernetes/bellhop.yaml")
	if err != nil {
		t.Fatal(err)
	}
	want, got := objects(t, plain), objects(t, rendered(t, "bellhop", values))
	given := got["ConfigMap"]["data"].(map[string]any)["bellhop.yaml"].(string)
	if _, err := config.Parse("bellhop.yaml", []byte(given)); err != nil {
		t.Errorf("the chart's configuration: %v", err)
	}
	for _, all := range []map[string]map[string]any{want, got} {
		delete(all["ConfigMap"], "data") // the comments differ
	}
	for kind, object := range want {
		if !reflect.DeepEqual(object, got[kind]) {
			t.Errorf("%s: the chart has %v, the manifest %v", kind, got[kind], object)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d objects, not %d", len(got), len(want))
	}
}

// TestHelm_ValuesGoWhereTheyBelong: two releases beside each other share nothing.
func TestHelm_ValuesGoWhereTheyBelong(t *testing.T) {
	t.Parallel()
	got := objects(t, rendered(t, "other", map[string]any{"replicas": 3, "image": `reg/x:"1"`, "secret": "mine",
		"terminationGracePeriodSeconds": 7, "resources": map[string]any{"limits": map[string]any{"memory": "2Gi"}},
		"config": "hosts:\n  - {name: local, slots: 1}\n"}))
	for kind, object := range got {
		if name := object["metadata"].(map[string]any)["name"]; name != "other" {
			t.Errorf("%s is called %v", kind, name)
		}
	}
	whole, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"replicas":3`, `reg/x:\"1\"`, `"secretRef":{"name":"mine"}`,
		`"terminationGracePeriodSeconds":7`, `"memory":"2Gi"`, `"configMap":{"name":"other"}`} {
		if !strings.Contains(string(whole), want) {
			t.Errorf("%s is nowhere in %s", want, whole)
		}
	}
	if strings.Contains(string(whole), `"bellhop"`) && strings.Count(string(whole), `"bellhop"`) > 1 { // the container's
		t.Errorf("a name is the chart's, not the release's: %s", whole)
	}
}
