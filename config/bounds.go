package config

import (
	"fmt"

	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/token"
)

// The parser's time and memory grow with the square of the nesting, of the keys of one mapping and of the documents of
// one text: 40 kB of brackets took it 18 s, and 1 MB took 23 GB. These bounds are asked of the tokens, which are read
// in a time that grows as the text does, before the parser sees them.
const (
	deepest       = 100    // lists and mappings within each other; bellhop.yaml and definitions need 8
	keysMost      = 2_000  // of one mapping
	documentsMost = 10_000 // of one text
	aliasedMost   = 50_000 // values that are read, where aliases stand for some of them more than once
)

// outline follows the tokens of a document: which lists and mappings are open.
type outline struct {
	open []level
	flow int // how many of them are in brackets
	runs int // anchors and tags in front of each other: each is a level to the parser
}

// level is an open list or mapping.
type level struct {
	column int // of its entries; 0: it is in brackets
	keys   int
}

// bounded gives the tokens of each document of a text, or what is too much of it and where.
func bounded(text string) (documents []token.Tokens, at *token.Token, too string) {
	var o outline
	begin, tokens := 0, lexer.Tokenize(text)
	headed := false // a line of --- that this document has: its first one follows its directives
	for i, t := range tokens {
		if t.Type == token.DocumentHeaderType {
			if headed || i > begin && tokens[begin].Type != token.DirectiveType {
				documents = append(documents, tokens[begin:i:i])
				begin, o = i, outline{}
			}
			headed = true
		}
		if too := o.next(t); too != "" {
			return nil, t, too
		}
		if len(documents) >= documentsMost {
			return nil, t, fmt.Sprintf("more than %d documents in one file", documentsMost)
		}
	}
	if begin < len(tokens) {
		documents = append(documents, tokens[begin:])
	}
	return documents, nil, ""
}

// next takes a token; what it gives is too much.
func (o *outline) next(t *token.Token) string {
	column := 1
	if t.Position != nil {
		column = t.Position.Column
	}
	switch t.Type {
	case token.TagType, token.AnchorType:
		o.runs++
	case token.CommentType:
	case token.SequenceStartType, token.MappingStartType:
		o.open = append(o.open, level{})
		o.flow++
	case token.SequenceEndType, token.MappingEndType:
		if o.flow > 0 {
			o.open = o.open[:len(o.open)-1]
			o.flow--
		}
	case token.SequenceEntryType, token.MappingKeyType:
		o.entry(column)
	case token.MappingValueType:
		if key := t.Prev; key != nil && key.Position != nil && key.Position.Line == t.Position.Line {
			column = key.Position.Column
		}
		at := o.entry(column)
		if at.keys++; at.keys > keysMost {
			return fmt.Sprintf("more than %d keys in one place", keysMost)
		}
	default:
		if t.PreviousType() != token.AnchorType { // it is not the anchor's name
			o.runs = 0
		}
	}
	if len(o.open)+o.runs > deepest {
		return fmt.Sprintf("lists and keys more than %d levels deep", deepest)
	}
	return ""
}

// entry gives the list or mapping whose entries begin in a column.
func (o *outline) entry(column int) *level {
	o.runs = 0
	if o.flow == 0 {
		for n := len(o.open); n > 0 && o.open[n-1].column > column; n = len(o.open) {
			o.open = o.open[:n-1]
		}
		if n := len(o.open); n == 0 || o.open[n-1].column < column {
			o.open = append(o.open, level{column: column})
		}
	}
	return &o.open[len(o.open)-1]
}
