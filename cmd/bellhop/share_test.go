package main

import "testing"

// The table of keys shows a weight as it was set.
func TestShare_ListsWeightsAsTheyWereSet(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	s.ok("share", "set", "mail", "customer-42", "0.3")
	s.id("mail", "--share", "customer-7")
	s.sql("insert into bellhop.share_line values ('mail', '', 0, 'customer-7', 0, 0, 1, false, 5)")
	has(t, s.ok("share", "ls", "mail"), "customer-42  0.3     0        0        0", "customer-7   1       1        0        5")
}
