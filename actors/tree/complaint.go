package tree

// Complaint is what was said last of something that fails: it is said once, and again when it has been well between.
type Complaint string

// News reports whether an error is to be said.
func (k *Complaint) News(err error) bool {
	was := *k
	if *k = ""; err != nil {
		*k = Complaint(err.Error())
	}
	return err != nil && *k != was
}
