package serve

import (
	"errors"
	"log/slog"
	"net"
	"strings"
	"testing"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/config"
)

// An address that was chosen and is taken ends serve, also if it is the standard one. That one alone, which was not
// chosen, gives way to a free port.
func TestSite_AnAddressThatIsTaken(t *testing.T) {
	t.Parallel()
	standard := config.Default().Listen
	if other, err := net.Listen("tcp", standard); err == nil { // else another program has it, which is as good
		defer other.Close()
	}
	for name, c := range map[string]struct {
		of     Config
		chosen bool
	}{
		"the flag of serve": {Config{listen: standard}, true},
		"the flag of dev":   {Config{Listen: standard}, true},
		"none":              {Config{}, false},
	} {
		site, err := c.of.site(config.Default(), nil, nil, nil, nil, slog.New(slog.DiscardHandler))
		if site != nil {
			if c.chosen || site.Addr() == standard {
				t.Errorf("%s: it listens on %s", name, site.Addr())
			}
			site.Close()
			continue
		}
		var f *cli.Failure
		if !errors.As(err, &f) || !c.chosen || f.Code != cli.ExitState || !strings.Contains(f.Why, standard) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
