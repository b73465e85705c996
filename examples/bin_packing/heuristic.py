"""Online bin packing: which bin the next item goes into.

As it stands this is best fit, the textbook rule: the bin in which the item leaves the least room. There is
one provision beyond that rule: room that is left over may count as scrap, which makes the bin the last
choice. With SCRAP = 0 none does.
"""

# Room up to this share of the capacity is never scrap: such a bin is as good as full.
SNUG = 0.05

# Other room is scrap if it is below this share of the item's size.
SCRAP = 0.0


def priority(item, room, capacity):
    """How much an item wants to go into a bin with this much room; an empty bin has room == capacity."""
    left = room - item
    if SNUG * capacity < left < SCRAP * item:
        return -capacity - left
    return -left
