package doctor

import (
	"testing"
)

// TestDoctor_FindsTheConfigurationOfServe, however that was named.
func TestDoctor_FindsTheConfigurationOfServe(t *testing.T) {
	t.Parallel()
	for want, args := range map[string][]string{
		"":                {"bellhop", "ls", "-c", "/x.yaml"},
		"/w/bellhop.yaml": {"bellhop", "serve"},
		"/x.yaml":         {"bellhop", "serve", "-c", "/x.yaml"},
		"/w/x.yaml":       {"bellhop", "-c", "x.yaml", "serve", "--listen", "0.0.0.0:8470"},
		"/y.yaml":         {"bellhop", "serve", "--config=/y.yaml"},
		"/z.yaml":         {"bellhop", "serve", "-c/z.yaml"},
	} {
		if got := servedConfig(args, nil, "/w"); got != want {
			t.Errorf("%v: %q, want %q", args, got, want)
		}
	}
	if got := servedConfig([]string{"bellhop", "serve"}, []string{"A=b", "BELLHOP_CONFIG=/e.yaml"},
		"/w"); got != "/e.yaml" {
		t.Errorf("by the environment: %q", got)
	}
	if got := servedConfig([]string{"bellhop", "serve", "-c", "/x.yaml"}, []string{"BELLHOP_CONFIG=/e.yaml"},
		"/w"); got != "/x.yaml" {
		t.Errorf("-c wins: %q", got)
	}
}
