# SPDX-License-Identifier: BSD-2-Clause
"""cpool.py - pools in gdb, of running programs and of core files.

Installed beside the shared library, or in gdb's own folder for such scripts, under the
name by which gdb loads it together with the library.  gdb trusts its own folder, and others
after `add-auto-load-safe-path FOLDER`.  By hand: `source gdb/cpool.py`.  It calls nothing of the program: it
reads memory alone, through the library's debug information.
"""

import struct

import gdb

INDEX_MASK = (1 << 24) - 1
TAKEN = 1 | 2  # of a slot's word: live, or held back for readers, which counts as live
HEADER = 8  # bytes of a magazine before its rounds
LINE = 64
FLAGS = {0x1: "checked", 0x8: "tracked", 0x10000000: "reserved", 0x1000: "huge pages",
         0x2000: "coloured"}
LAYERS = {0x4: "objects", 0x8: "sized", 0x10: "lanes"}


class Failure(gdb.GdbError):
    """Ends a command with one line."""


def read_words(address, count):
    """That many pointers, as numbers."""
    size = gdb.lookup_type("void").pointer().sizeof
    data = gdb.selected_inferior().read_memory(address, count * size).tobytes()
    return struct.unpack("=%d%s" % (count, "Q" if size == 8 else "I"), data)


def refuse():
    """There is nothing to read: says whether the process, the library or its debug information
    lacks."""
    if gdb.selected_inferior().pid == 0:
        raise Failure("there is no process: it has not been started, or has ended")
    try:
        gdb.parse_and_eval("&cpool_create")
    except gdb.error:
        raise Failure("there is no libcpool in this process, or it has not been loaded yet") \
            from None
    raise Failure("this libcpool was compiled without -g: it has no debug information, by which "
                  "its pools are read")


def handle_arrays():
    """The array of descriptors of each copy of the library, with its module."""
    found = {}
    try:
        gdb.lookup_type("struct cpi_pool")
        gdb.lookup_type("cpool_t")
    except gdb.error:
        refuse()
    for objfile in gdb.objfiles():
        symbol = objfile.lookup_global_symbol("cpi_handles_at")
        if symbol is not None:
            at = int(symbol.value())
            arrays = gdb.Value(at).cast(gdb.lookup_type("struct cpi_handles").pointer())
            found[at] = (arrays["handles"], objfile.filename)
    if not found:
        refuse()
    return [array for at, array in found.items() if at % LINE == 0]  # of copies that had a pool


class Pool:
    """One pool, read from memory."""

    def __init__(self, handle, state, module):
        self.handle = handle
        self.module = module
        self.state = gdb.Value(state).cast(gdb.lookup_type("struct cpi_pool").pointer()).dereference()
        self.name = self.state["name"].string(errors="replace")
        self.face = int(self.state["face"])  # what everybody but a client has as its handle
        client = self.state["client"]
        self.layer = LAYERS.get(int(client["kind"])) if int(client) != 0 else None
        self.owner = int(client["owner"]) if int(client) != 0 and client["shown"] else 0
        slab = self.state["slab"]
        bounds = int(slab["bounds"])
        self.base = int(slab["base"])
        self.stride = int(slab["stride"])
        self.slot_size = int(slab["slot_size"])
        self.slots = int(slab["slots"])
        self.fresh = bounds & 0xFFFFFFFF
        self.capacity = bounds >> 32
        self.depot = self.state["depot"]
        self.limit = int(self.depot["limit"])
        self._free = None

    def slot(self, index):
        return self.base + index * self.stride

    def index(self, address):
        offset = address - self.base
        return offset // self.stride if 0 <= offset < self.slots * self.stride else None

    def waiters(self):
        """How many threads wait for a slot."""
        count = 0
        waiter = self.state["waiters"]["queue"]["first"]
        while int(waiter) != 0:
            count += 1
            waiter = waiter["next"]
        return count

    def flags(self):
        flags = int(self.state["flags"])
        names = [name for bit, name in sorted(FLAGS.items()) if flags & bit]
        if int(self.state["typed"]) != 0:
            names.append("typed")
        if self.layer is not None:
            names.insert(0, self.layer)
        return names

    def magazine(self, node):
        """The free slots in a magazine, by its own count."""
        links = self.depot["links"]
        address = int(links["links"]) + (node - 1) * int(links["stride"])
        kind = gdb.lookup_type("struct cpi_magazine").pointer()
        count = int(gdb.Value(address).cast(kind)["count"]) & 0x7FFFFFFF
        return address, read_words(address + HEADER, count) if count else ()

    def stack(self, name):
        """The numbers of the magazines on one of the depot's stacks, the top one first."""
        nodes = []
        seen = set()
        node = int(self.depot[name]["head"]) & INDEX_MASK
        while node != 0 and node not in seen:
            nodes.append(node)
            seen.add(node)
            address = self.magazine(node)[0]
            node = struct.unpack("=I", gdb.selected_inferior().read_memory(address, 4).tobytes())[0]
        return nodes

    def caches(self):
        """The structures of all registered caches."""
        registry = self.state["registry"]
        kind = gdb.lookup_type("struct cpi_cache")
        size = next(f for f in kind.fields() if f.name == "spare").bitpos // 8 \
            + int(registry["quota_max"]) * 4
        size = (size + LINE - 1) // LINE * LINE
        start = int(registry["caches"]["base"])
        for i in range(int(registry["made"])):
            cache = gdb.Value(start + i * size).cast(kind.pointer()).dereference()
            if bool(cache["used"]):
                yield i, cache

    def cached(self, cache):
        """The free slots of a cache: those loaded, and those in its spares."""
        entry = entry_of(cache)
        # What another thread has taken is counted still.
        count = int(entry["count"]) & ~busy_of(entry) if int(cache["loaded"]) != 0 else 0
        loaded = read_words(int(entry["rounds"]), count) if count else ()
        spares = []
        if int(cache["quota"]) > 0:
            first = int(cache["spare"].address)
            memory = gdb.selected_inferior().read_memory(first, 4 * int(cache["quota"]))
            for (node,) in struct.iter_unpack("=I", memory.tobytes()):
                if node != 0:
                    spares.extend(self.magazine(node)[1])
        return loaded, spares

    def free(self):
        """The index of each free slot below the watermark, with the place where it lies."""
        if self._free is not None:
            return self._free
        places = {}
        for node in self.stack("stocked"):
            places.update((address, "the depot") for address in self.magazine(node)[1])
        partial = int(self.depot["partial"])
        if partial != 0:
            places.update((address, "the depot") for address in self.magazine(partial)[1])
        for i, cache in self.caches():
            loaded, spares = self.cached(cache)
            places.update((address, "cache %d" % i) for address in loaded)
            places.update((address, "a spare magazine of cache %d" % i) for address in spares)
        self._free = {(address - self.base) // self.stride: place
                      for address, place in places.items()}
        return self._free

    def words(self):
        """The address of the slots' words, or 0."""
        return int(self.state["map"]["words"])

    def live(self):
        """The live slots' indices, in order.  Tracked and checked pools have a word for each
        slot that says so.  Slots of others are live if they are in no magazine."""
        words = self.words()
        if words == 0:
            return [index for index in range(self.fresh) if index not in self.free()]
        memory = gdb.selected_inferior().read_memory(words, 8 * self.fresh) if self.fresh else b""
        return [index for index, (word,) in enumerate(struct.iter_unpack("=Q", bytes(memory)))
                if word & TAKEN]

    def is_live(self, index):
        words = self.words()
        if words == 0 or index >= self.fresh:
            return index < self.fresh and index not in self.free()
        memory = gdb.selected_inferior().read_memory(words + 8 * index, 8)
        return struct.unpack("=Q", memory.tobytes())[0] & TAKEN != 0

    def call(self, index, is_free):
        """Of a checked pool's slot: where it was last taken or freed, or None."""
        side = self.state["slab"]["sides"][1]
        size = int(side["size"])
        if size == 0 or index >= self.fresh:
            return None
        kind = gdb.lookup_type("struct cpi_record")
        record = gdb.Value(int(side["extent"]["base"]) + index * size)
        call = record.cast(kind.pointer()).dereference()["calls"][1 if is_free else 0]
        if int(call["when"]) == 0:
            return None
        return place_of(int(call["site"]))


def all_pools():
    """Every pool of the process, in the order of descriptors."""
    arrays = handle_arrays()
    kind = gdb.lookup_type("cpool_t").strip_typedefs()
    words = kind.sizeof // gdb.lookup_type("void").pointer().sizeof
    state_at = next(f for f in kind.fields() if f.name == "state").bitpos // 8
    state_at //= kind.sizeof // words
    for handles, module in arrays:
        count = handles.type.range()[1] + 1
        start = int(handles.address)
        content = read_words(start, count * words)
        for i in range(1, count):
            state = content[i * words + state_at]
            if state != 0:
                yield Pool(start + i * kind.sizeof, state, module)


def the_pool(argument):
    """The pool of a name, or of an expression that is its handle."""
    pools = list(all_pools())
    for pool in pools:
        if pool.name == argument:
            return pool
    try:
        handle = int(gdb.parse_and_eval(argument))
    except (gdb.error, TypeError):
        raise Failure("no pool has the name %s" % argument) from None
    for pool in pools:
        if handle in (pool.handle, pool.face):
            return pool
    raise Failure("%s is no pool's handle" % argument)


def entry_of(cache):
    """The entry that is in use."""
    kind = gdb.lookup_type("cpool_cache_t").pointer()
    return gdb.Value(int(cache["active"])).cast(kind).dereference()


def busy_of(entry):
    """The owner's mark, the top bit of the count: lib/cache/cache.h."""
    return 1 << 8 * entry["count"].type.sizeof - 1


def is_inside(cache):
    """Whether the owner has its mark set, or is out of line."""
    entry = entry_of(cache)
    return int(cache["busy"]) % 2 == 1 or int(entry["count"]) & busy_of(entry) != 0


def threads_by_word():
    """The library's word of each thread, with gdb's number of the thread."""
    words = {}
    selected = gdb.selected_thread()
    for thread in gdb.selected_inferior().threads():
        try:
            thread.switch()
            words[int(gdb.parse_and_eval("cpool_thread_word_abi1"))] = thread.num
        except gdb.error:
            pass
    if selected is not None:
        selected.switch()
    return words


def place_of(address):
    """An address in code as function and line, if they are known."""
    try:
        block = gdb.block_for_pc(address - 1)
        line = gdb.find_pc_line(address - 1)
        while block is not None and block.function is None:
            block = block.superblock
        if block is not None and line.symtab is not None:
            return "%s at %s:%d" % (block.function, line.symtab.filename, line.line)
    except (gdb.error, RuntimeError):
        pass
    return "0x%x" % address


def say(text):
    """A line, without what a name may tell the terminal to do."""
    gdb.write("".join(c if c.isprintable() else "\\x%02x" % ord(c) for c in text) + "\n")


class Line:
    """A line of the list: a pool, or all classes of an allocator of blocks of many sizes, which
    has the address of the allocator and no size of slots."""

    def __init__(self, pool):
        self.sized = pool.layer == "sized" and pool.owner != 0
        self.handle = pool.owner if self.sized else pool.face
        self.name = self.name_of(pool) if self.sized else pool.name
        self.size = "-" if self.sized else pool.slot_size
        self.kind = ", ".join(pool.flags())
        self.live = self.free = self.capacity = self.waiters = 0

    @staticmethod
    def name_of(pool):
        kind = gdb.lookup_type("struct cpool_sized").pointer()
        return gdb.Value(pool.owner).cast(kind)["name"].string(errors="replace")

    def add(self, pool):
        live = len(pool.live())
        self.live += live
        self.free += pool.fresh - live
        self.capacity += pool.capacity
        self.waiters += pool.waiters()


def lines_of(pools):
    """The lines of the list, in the order of their first pools."""
    lines = {}
    for pool in pools:
        line = Line(pool)
        lines.setdefault(line.handle, line).add(pool)
    return lines.values()


class CpoolCommand(gdb.Command):
    """Looks into libcpool's pools: cpool list, show, whatis, caches, live."""

    def __init__(self):
        super().__init__("cpool", gdb.COMMAND_DATA, gdb.COMPLETE_NONE, True)


class ListCommand(gdb.Command):
    """cpool list - all pools of the process, with their figures."""

    def __init__(self):
        super().__init__("cpool list", gdb.COMMAND_DATA)

    def invoke(self, argument, from_tty):
        say("%-18s %-20s %10s %10s %10s %8s %8s  %s" % (
            "handle", "name", "live", "free", "capacity", "size", "waiters", "kind"))
        pools = list(all_pools())
        for line in lines_of(pools):
            say("%-18s %-20s %10d %10d %10d %8s %8d  %s" % (
                "0x%x" % line.handle, line.name, line.live, line.free, line.capacity,
                line.size, line.waiters, line.kind))
        modules = {pool.module for pool in pools}
        if len(modules) > 1:
            say("%d copies of the library have pools: %s" % (len(modules), ", ".join(modules)))


class ShowCommand(gdb.Command):
    """cpool show POOL - one pool.  POOL is a name, or an expression that is a handle."""

    def __init__(self):
        super().__init__("cpool show", gdb.COMMAND_DATA, gdb.COMPLETE_EXPRESSION)

    def invoke(self, argument, from_tty):
        pool = the_pool(argument)
        live = len(pool.live())
        free = pool.fresh - live
        cached = sum(len(loaded) + len(spares)
                     for loaded, spares in (pool.cached(cache) for _, cache in pool.caches()))
        say("pool '%s' at 0x%x%s" % (pool.name, pool.face,
                                     "".join(", " + name for name in pool.flags())))
        say("  slots      %d bytes each, one every %d, from 0x%x" % (pool.slot_size, pool.stride,
                                                                     pool.base))
        say("  capacity   %d, at most %d" % (pool.capacity, pool.slots))
        say("  now        live %d, in depot %d, in caches %d, never used %d" % (
            live, free - cached, cached, max(pool.capacity - pool.fresh, 0)))
        say("  depot      %d full and %d empty magazines of %d rounds" % (
            len(pool.stack("stocked")), len(pool.stack("empty")), pool.limit))
        say("  memory     %d bytes from 0x%x" % (int(pool.state["region_size"]),
                                               int(pool.state.address)))
        say("  module     %s" % pool.module)


class WhatisCommand(gdb.Command):
    """cpool whatis ADDRESS - the pool and the slot of an address."""

    def __init__(self):
        super().__init__("cpool whatis", gdb.COMMAND_DATA, gdb.COMPLETE_EXPRESSION)

    def invoke(self, argument, from_tty):
        if not argument:
            raise Failure("cpool whatis ADDRESS")
        address = int(gdb.parse_and_eval(argument).cast(gdb.lookup_type("unsigned long")))
        inner = None
        for pool in all_pools():
            index = pool.index(address)
            start = int(pool.state.address)
            if index is not None and (inner is None or pool.base > inner.base):
                inner = pool
            elif index is None and 0 <= address - start < int(pool.state["region_size"]):
                say("0x%x: in the bookkeeping of pool '%s'" % (address, pool.name))
        if inner is None:
            say("0x%x: in no slot of any pool" % address)
        else:
            self.tell(inner, address)

    @staticmethod
    def tell(pool, address):
        index = pool.index(address)
        offset = address - pool.slot(index)
        if index >= pool.fresh:
            state = "never used"
        elif pool.is_live(index):
            state = "live"
        else:
            state = "free, in " + pool.free().get(index, "no magazine: held back, or moved now")
        say("0x%x: pool '%s', slot %d at 0x%x, %s" % (address, pool.name, index, pool.slot(index),
                                                    state))
        if offset >= pool.slot_size:
            say("  %d bytes behind the slot's end" % (offset - pool.slot_size))
        elif offset > 0:
            say("  %d bytes inside the slot" % offset)
        for is_free, word in ((False, "taken"), (True, "freed")):
            place = pool.call(index, is_free)
            if place is not None:
                say("  last %s by %s" % (word, place))


class CachesCommand(gdb.Command):
    """cpool caches [POOL] - the caches of one pool or of all, with their threads."""

    def __init__(self):
        super().__init__("cpool caches", gdb.COMMAND_DATA, gdb.COMPLETE_EXPRESSION)

    def invoke(self, argument, from_tty):
        threads = threads_by_word()
        for pool in [the_pool(argument)] if argument else all_pools():
            for i, cache in pool.caches():
                loaded, spares = pool.cached(cache)
                word = (int(cache["entry"]) - pool.handle) % (1 << 8 * cache["entry"].type.sizeof)
                if int(cache["owner"]) == 0:
                    owner = "no thread"
                elif word in threads:
                    owner = "thread %d" % threads[word]
                else:
                    owner = "a thread with the word 0x%x" % word
                inside = ", inside an operation" if is_inside(cache) else ""
                say("pool '%s', cache %d: of %s, %d loaded, %d in spares%s" % (
                    pool.name, i, owner, len(loaded), len(spares), inside))


class LiveCommand(gdb.Command):
    """cpool live POOL [COUNT] - the live slots, the first 20 or so many, and of checked
pools the places where they were allocated."""

    def __init__(self):
        super().__init__("cpool live", gdb.COMMAND_DATA, gdb.COMPLETE_EXPRESSION)

    def invoke(self, argument, from_tty):
        words = gdb.string_to_argv(argument)
        if not words or len(words) > 1 and not words[1].isdecimal():
            raise Failure("cpool live POOL [COUNT]")
        pool = the_pool(words[0])
        most = int(words[1]) if len(words) > 1 else 20
        live = pool.live()
        places = {}
        for index in live:
            place = pool.call(index, False)
            if place is not None:
                places[place] = places.get(place, 0) + 1
        say("%d live slot%s of pool '%s'" % (len(live), "" if len(live) == 1 else "s", pool.name))
        for place, count in sorted(places.items(), key=lambda item: -item[1]):
            say("  %d allocated by %s" % (count, place))
        for index in live[:most]:
            say("  slot %d at 0x%x" % (index, pool.slot(index)))
        if len(live) > most:
            say("  and %d more" % (len(live) - most))


for command in (CpoolCommand, ListCommand, ShowCommand, WhatisCommand, CachesCommand, LiveCommand):
    command()
