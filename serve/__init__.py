"""abduce as a service: over HTTP, and as tools of the Model Context Protocol (extra ``serve``)."""
