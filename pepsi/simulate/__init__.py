"""The dispatcher's engine under a virtual clock: arrivals, a queue and workers that are models. Pure."""
