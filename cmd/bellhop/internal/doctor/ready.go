package doctor

import (
	"context"
	"io"
	"net/http"
)

// checkReady asks the instance of this machine whether it can work.
func (d *doctor) checkReady(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, bellPatience)
	defer cancel()
	url := "http://" + d.config.Listen + "/readyz"
	ask, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		d.note("readiness", err.Error(), "")
		return
	}
	answer, err := http.DefaultClient.Do(ask)
	if err != nil {
		d.note("readiness", "no instance answers at "+url, "bellhop doctor -c FILE   # that of the instance")
		return
	}
	defer answer.Body.Close()
	words, _ := io.ReadAll(io.LimitReader(answer.Body, 1<<10)) // what has come is enough
	if answer.StatusCode != http.StatusOK {
		d.mend("readiness", url+": "+string(words), "journalctl -u bellhop -n 50   # says why")
		return
	}
	d.ok("readiness", url+": "+string(words))
}
