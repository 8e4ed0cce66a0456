class Thread:
    def __init__(self, colour):
        self.colour = colour
