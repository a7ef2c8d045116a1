package api

// First joins a hub and gives the first event that it tells.
func First(h *Hub) (name, data string) {
	e := <-h.join() // it stays: what was told last is kept while anybody looks
	return e.Name, string(e.Data)
}
