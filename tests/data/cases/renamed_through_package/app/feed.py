from . import go


async def subscribe(topics):
    return [go(topic.listen()) for topic in topics]  # error: CG102 13
