package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// site is what a bellhop that is measured shows, as an operator sees it.
type site struct {
	at     string
	client *http.Client
}

const siteToken = "the-bench-is-an-operator"

// freeAddress is an unused address.
func freeAddress() (string, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return ln.Addr().String(), ln.Close()
}

func newSite(at string) *site {
	return &site{at, &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 4, DisableCompression: true}}}
}

func (s *site) ask(ctx context.Context, method, path, body string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, method, "http://"+s.at+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+siteToken)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	a, err := s.client.Do(r)
	if err == nil && a.StatusCode >= 300 {
		text, _ := io.ReadAll(io.LimitReader(a.Body, 500)) // for the error alone
		_ = a.Body.Close()
		err = fmt.Errorf("%s %s: %s: %s", method, path, a.Status, text)
	}
	return a, err
}

// first gives after how many ms the first byte of an answer came, and how long all of it is.
func (s *site) first(ctx context.Context, path string) (ms float64, size int64, err error) {
	began := time.Now()
	a, err := s.ask(ctx, http.MethodGet, path, "")
	if err != nil {
		return 0, 0, err
	}
	ms = time.Since(began).Seconds() * 1000
	size, err = io.Copy(io.Discard, a.Body)
	_ = a.Body.Close()
	return ms, size, err
}

// watch looks at a page's stream until ctx ends, and tells of each fragment; tell may be nil.
func (s *site) watch(ctx context.Context, page string, tell func(fragment string)) error {
	a, err := s.ask(ctx, http.MethodGet, "/live?at="+url.QueryEscape(page), "")
	if err != nil {
		return err
	}
	defer func() { _ = a.Body.Close() }()
	if tell == nil { // as cheap a reader as there is: it shares the processors with what is measured
		_, err = io.Copy(io.Discard, a.Body)
	} else {
		var text strings.Builder
		lines := bufio.NewReaderSize(a.Body, 1<<20)
		for {
			var line string
			if line, err = lines.ReadString('\n'); err != nil {
				break
			}
			if line != "\n" {
				text.WriteString(line)
				continue
			}
			tell(text.String())
			text.Reset()
		}
	}
	if ctx.Err() != nil {
		return nil
	}
	return fmt.Errorf("the stream of %s ended: %w", page, err)
}

// watchers are n viewers of some pages, in turn; stop ends them, and gives what went wrong.
func (s *site) watchers(ctx context.Context, n int, pages []string) (stop func() error) {
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	wrong := make(chan error, n)
	for i := range n {
		all.Go(func() {
			if err := s.watch(ctx, pages[i%len(pages)], nil); err != nil {
				wrong <- err
			}
		})
	}
	return func() error {
		cancel()
		all.Wait()
		select {
		case err := <-wrong:
			return err
		default:
			return nil
		}
	}
}
