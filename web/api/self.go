package api

import (
	"context"
	"encoding/json"
	"net/http"
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"bellhop/sql/view"
	"bellhop/web"
)

// Self is the caller, as this API sees it.
type Self struct {
	Name    string `json:"name"    doc:"Name of the token, or of the signed-in login or person; empty: none"`
	Role    string `json:"role"    doc:"Role of PostgreSQL: all statements run under it"`
	Via     string `json:"via"                                                                            enum:"loopback,token,session,oidc"`
	Version string `json:"version" doc:"Version of the program that answers"`
}

// self has what the API says of itself.
func (a *API) self(mux *web.Mux) {
	huma.Register(a, operation(http.MethodGet, "/whoami", reader, "self", "Show the caller of this request, and its role"),
		func(ctx context.Context, _ *struct{}) (*body[Self], error) {
			who := web.CallerOf(ctx)
			return &body[Self]{Self{who.Name, who.Role, who.Via, a.Version}}, nil
		})
	mux.Route("GET "+Prefix+"/openapi.json", web.Known, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		text, err := a.document(web.Link(r.Context(), Prefix))
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		_, _ = w.Write(text) // the client may have gone
	})
}

// Document is openapi.json.
func (a *API) Document() ([]byte, error) { return a.document(Prefix) }

// document is openapi.json for a client that asks for the API at a path.
func (a *API) document(at string) ([]byte, error) {
	of := *a.OpenAPI()
	of.Servers = []*huma.Server{{URL: at}}
	text, err := json.MarshalIndent(&of, "", " ")
	return append(text, '\n'), err
}

func operationID(method, path string) string {
	words := strings.FieldsFunc(path, func(c rune) bool { return c == '/' || c == '{' || c == '}' })
	return strings.ToLower(method) + "-" + strings.Join(words, "-")
}

// moment is how a time that may be infinite stands in JSON.
type moment struct{}

// Schema is what huma asks.
func (moment) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Nullable: true, Description: "A time (RFC 3339), or infinity"}
}

// nameTypes tells of types that JSON knows in another way than Go.
func nameTypes(r huma.Registry) {
	r.RegisterTypeAlias(reflect.TypeFor[view.Moment](), reflect.TypeFor[moment]())
}

func typeOf[T any]() reflect.Type { return reflect.TypeFor[T]() }
