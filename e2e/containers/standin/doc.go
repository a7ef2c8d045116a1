// Package standin makes images that stand in for the public ones where none can
// be pulled: from Debian's packages, from Go modules, and from this repository's
// own Dockerfile. Each is named by its content, so a second run makes none.
//
// Where one differs from what it stands for:
//
//   - postgres is 17, of Debian trixie, and knows no more of the public
//     image's environment than the stack uses
//   - jaeger is built from its module; its web UI is a placeholder page, its API
//     is the real one
//   - prometheus is 2.42, Debian's
//   - there is no grafana: Debian has no package of it
package standin
