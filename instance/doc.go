// Package instance is what stands between a tree and its desks wherever an
// instance runs: in `bellhop serve`, and inside an app (package client/worker).
// It counts for forecasts, keeps the history of what was done, and lets desks be
// ports. It decides nothing.
package instance
