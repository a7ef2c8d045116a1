// Package deploy holds what others run bellhop with.
package deploy

import (
	"bytes"
	"os"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"sigs.k8s.io/yaml"

	"bellhop/config"
)

// read reads one document as a type of Kubernetes' own API: an unknown field, and
// a value of another type, is an error.
func read[T any](t *testing.T, documents map[string][]byte, kind string) (v T) {
	t.Helper()
	text, is := documents[kind]
	if !is {
		t.Fatalf("there is no %s", kind)
	}
	if err := yaml.UnmarshalStrict(text, &v); err != nil {
		t.Fatalf("%s: %v", kind, err)
	}
	delete(documents, kind)
	return v
}

// TestKubernetes_ManifestIsOne: of the API's own types, of two replicas that become
// ready, drain and leave in the time that they are given, on a configuration that
// serve takes.
func TestKubernetes_ManifestIsOne(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("kubernetes/bellhop.yaml")
	if err != nil {
		t.Fatal(err)
	}
	documents := map[string][]byte{}
	for _, d := range bytes.Split(text, []byte("\n---\n")) {
		var head struct{ Kind string }
		if err := yaml.Unmarshal(d, &head); err != nil {
			t.Fatal(err)
		}
		documents[head.Kind] = d
	}
	settings := read[corev1.ConfigMap](t, documents, "ConfigMap")
	run := read[appsv1.Deployment](t, documents, "Deployment")
	service := read[corev1.Service](t, documents, "Service")
	budget := read[policyv1.PodDisruptionBudget](t, documents, "PodDisruptionBudget")
	if len(documents) != 0 {
		t.Errorf("nobody has looked at %d documents", len(documents))
	}

	c, err := config.Parse("bellhop.yaml", []byte(settings.Data["bellhop.yaml"]))
	if err != nil {
		t.Fatal(err)
	}
	pod := run.Spec.Template.Spec
	needs := c.Instance.Grace + c.Limits.KillAfter + 30*time.Second
	if has := time.Duration(*pod.TerminationGracePeriodSeconds) * time.Second; has < needs {
		t.Errorf("a pod has %s to end, and may need %s", has, needs)
	}
	if *run.Spec.Replicas != 2 || budget.Spec.MaxUnavailable.IntValue() != 1 {
		t.Errorf("%d replicas, of which %s may be away", *run.Spec.Replicas, budget.Spec.MaxUnavailable)
	}
	serve := pod.Containers[0]
	for name, of := range map[string]struct {
		probe *corev1.Probe
		path  string
	}{
		"readiness": {serve.ReadinessProbe, "/readyz"},
		"liveness":  {serve.LivenessProbe, "/healthz"},
		"startup":   {serve.StartupProbe, "/healthz"},
	} {
		if get := of.probe.HTTPGet; get == nil || get.Path != of.path || get.Port.String() != serve.Ports[0].Name {
			t.Errorf("%s: %+v", name, of.probe)
		}
	}
	for label, value := range run.Spec.Selector.MatchLabels {
		if run.Spec.Template.Labels[label] != value || service.Spec.Selector[label] != value ||
			budget.Spec.Selector.MatchLabels[label] != value {
			t.Errorf("%s is not %s everywhere", label, value)
		}
	}
	if service.Spec.Ports[0].TargetPort.String() != serve.Ports[0].Name || serve.Ports[0].ContainerPort != 8470 {
		t.Errorf("the service goes to %+v", service.Spec.Ports)
	}
	for _, container := range append(pod.InitContainers, pod.Containers...) {
		s := container.SecurityContext
		if !*s.ReadOnlyRootFilesystem || *s.AllowPrivilegeEscalation || !*pod.SecurityContext.RunAsNonRoot {
			t.Errorf("%s: %+v", container.Name, s)
		}
	}
}
