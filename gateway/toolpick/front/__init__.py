"""Who talks to clients: stdio and streamable HTTP, both eras; and the control socket."""
