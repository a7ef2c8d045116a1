package api

import (
	"cmp"

	"github.com/danielgtaylor/huma/v2"

	"bellhop/scheduler/grammar"
)

// restAdds is what REST alone says of a field.
var restAdds = map[string]string{
	"args":        ". A string, or any other JSON, which becomes a line",
	"key":         ". The header Idempotency-Key is the same",
	"traceparent": ". The header of that name is the same",
}

// described gives the properties of a schema the sentences, examples, choices and bounds of the object's fields.
func described(o grammar.Object, s *huma.Schema) *huma.Schema {
	for _, f := range o.Fields {
		p := s.Properties[f.Name]
		if p == nil {
			panic("api: " + o.Name + " has no " + f.Name)
		}
		p.Description = f.Sentence() + restAdds[f.Name]
		for _, choice := range f.Choices {
			p.Enum = append(p.Enum, choice)
		}
		if f.Example != "" && p.Type == huma.TypeString {
			p.Examples = []any{f.Example}
		}
		bounded(f, p)
		p.PrecomputeMessages()
	}
	return s
}

// bounded gives a property the bounds of a field. Text of so many bytes has no more letters, and the
// queue counts the bytes.
func bounded(f grammar.Field, p *huma.Schema) {
	least, most := float64(f.Least), float64(f.Most)
	switch f.Kind {
	case grammar.Whole, grammar.Count, grammar.ID:
		if f.Least != 0 || f.Most != 0 || f.Kind == grammar.Count {
			p.Minimum = &least
		}
		if f.Most != 0 {
			p.Maximum = &most
		}
	case grammar.Word, grammar.Text:
		if f.Needed {
			one := 1
			p.MinLength = &one
		}
		if letters := cmp.Or(f.Most, f.MostBytes); letters != 0 {
			p.MaxLength = &letters
		}
	case grammar.JSON:
		if f.Most != 0 {
			p.MaxItems = &f.Most
		}
	}
}
