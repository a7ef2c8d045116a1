package page

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"path"
	"strings"
	"time"
)

// versions of static files: part of their addresses, so that they may be kept for ever.
var versions = map[string]string{}

func init() {
	list, err := static.ReadDir("static")
	if err != nil {
		panic("page: " + err.Error()) // they are part of the program
	}
	for _, f := range list {
		text, err := static.ReadFile("static/" + f.Name())
		if err != nil {
			panic("page: " + err.Error())
		}
		sum := sha256.Sum256(text)
		versions[f.Name()] = hex.EncodeToString(sum[:6])
	}
}

// asset is the address of a static file.
func asset(name string) string { return "/static/" + name + "?v=" + versions[name] }

func serveStatic(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, "/static/")
	text, err := static.ReadFile("static/" + path.Base(name))
	if err != nil || name != path.Base(name) {
		http.NotFound(w, r)
		return
	}
	if r.URL.Query().Get("v") == versions[name] {
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(text))
}
