#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
Traffic of the e1000e tests that knows what it has to receive.

  serve ADDR PORT            the far end of the others, until killed
  load ADDR PORT FILE        a TCP stream each way until SIGTERM; FILE has how
                             many good bytes went each way so far, exit status
                             1 tells of a wrong one
  echo ADDR PORT MTU         datagrams of all interesting sizes there and back
  flood ADDR PORT            megabytes each way at a steady rate that nobody
                             reads, until killed; says when they are queued
  softirq ADDR PORT          a datagram to oneself on each CPU: it frees then
                             what others handed back to it

The stream is one block of random bytes over and over. Its length is a prime,
so that no power of two hides a byte in the wrong place.
"""

import functools
import os
import random
import select
import signal
import socket
import sys
import threading
import time

BLOCK = random.Random(42).randbytes(65537)
TWICE = BLOCK + BLOCK
CHUNK = 65536
WINDOW = 16
GOOD = [0, 0]
SO_SNDBUFFORCE, SO_RCVBUFFORCE, SO_MAX_PACING_RATE = 32, 33, 47
FLOOD = 1 << 24     # bytes
FLOOD_RATE = FLOOD // 4
# Not an Event: the signal may come while its lock is held, by the very thread
# that the handler would wait for.
STOP = []


def send_stream(sock, way):
    """write the stream until told to stop or the other end closes"""
    pos = 0
    sock.settimeout(0.2)
    while not STOP:
        try:
            done = sock.send(memoryview(TWICE)[pos:pos + CHUNK])
        except socket.timeout:
            continue
        except OSError:
            break
        pos = (pos + done) % len(BLOCK)
        GOOD[way] += done


def check_stream(sock, way):
    """read the stream until told to stop; dies of a wrong byte"""
    pos = 0
    sock.settimeout(0.2)
    while not STOP:
        try:
            data = sock.recv(CHUNK)
        except socket.timeout:
            continue
        except OSError:
            break
        if not data:
            break
        if data != TWICE[pos:pos + len(data)]:
            bad = next(i for i, byte in enumerate(data)
                       if byte != TWICE[pos + i])
            print(f"wrong byte {GOOD[way] + bad} of the stream", flush=True)
            os._exit(1)
        pos = (pos + len(data)) % len(BLOCK)
        GOOD[way] += len(data)


def flood(sock, say=None):
    """fill the queue, which the kernel empties by itself, and wait for the other end"""
    for opt, val in ((SO_SNDBUFFORCE, FLOOD), (SO_RCVBUFFORCE, FLOOD),
                     (SO_MAX_PACING_RATE, FLOOD_RATE)):
        sock.setsockopt(socket.SOL_SOCKET, opt, val)
    sock.setblocking(False)
    done = 0
    try:
        while done < FLOOD:
            done += sock.send(bytes(CHUNK))
    except BlockingIOError:
        pass
    if say:
        say(f"{done} bytes are queued")
    gone = select.poll()
    gone.register(sock, select.POLLRDHUP)
    gone.poll()


def spawn(func, *args):
    """a thread that does not keep the process"""
    thread = threading.Thread(target=func, args=args, daemon=True)
    thread.start()
    return thread


def serve_one(sock):
    """the client's first byte says what it is going to do"""
    what = sock.recv(1)
    if what == b"S":
        check_stream(sock, 0)
    elif what == b"R":
        send_stream(sock, 1)
    elif what == b"F":
        flood(sock)
    sock.close()


def serve_udp(sock):
    """send everything back"""
    while True:
        data, peer = sock.recvfrom(65536)
        sock.sendto(data, peer)


def serve(addr, port):
    """serve ADDR PORT"""
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.bind((addr, port))
    spawn(serve_udp, udp)
    tcp = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    tcp.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    tcp.bind((addr, port))
    tcp.listen(4)
    while True:
        spawn(serve_one, tcp.accept()[0])


def opened(addr, port, what):
    """a connection for one way; the server may not be there yet"""
    end = time.monotonic() + 40
    while True:
        try:
            sock = socket.create_connection((addr, port), 15)
            break
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.1)
    sock.sendall(what)
    return sock


def load(addr, port, name):
    """load ADDR PORT FILE"""
    signal.signal(signal.SIGTERM, lambda *_: STOP.append(True))
    threads = [spawn(send_stream, opened(addr, port, b"S"), 0),
               spawn(check_stream, opened(addr, port, b"R"), 1)]
    while not STOP:
        time.sleep(0.1)
        with open(name + ".new", "w", encoding="ascii") as file:
            print(*GOOD, file=file)
        os.rename(name + ".new", name)
        if not STOP and \
           not all(thread.is_alive() for thread in threads):
            print("a connection is gone", flush=True)
            sys.exit(1)


def sizes(mtu):
    """payloads: the short ones all, then what is near a buffer's end"""
    most = mtu - 28
    want = set(range(0, 320)) | set(range(320, most, 97)) | {most}
    for edge in (128, 256, 2048, 128 + 4096, 4096, 8192, 128 + 8192):
        for head in (0, 28, 42, 46):
            want |= set(range(edge - head - 2, edge - head + 3))
    return sorted(size for size in want if 0 <= size <= most)


def right(back, sent):
    """an answer is what was sent of its size; it may come a second time"""
    data = sent.pop(len(back), back)
    if back == data:
        return
    where = next(i for i, pair in enumerate(zip(back, data))
                 if pair[0] != pair[1])
    sys.exit(f"{len(data)} bytes: byte {where} differs")


def echo(addr, port, mtu):
    """echo ADDR PORT MTU: a few frames are under way at a time, each of a size
    of its own, which tells whose answer came"""
    rand = random.Random(mtu)
    todo = sizes(mtu)
    lost = 0
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.connect((addr, port))
        # no fragments: every datagram is a frame
        sock.setsockopt(socket.IPPROTO_IP, 10, 2)
        sock.settimeout(1)
        for some in (todo[i:i + WINDOW] for i in range(0, len(todo), WINDOW)):
            sent = {size: rand.randbytes(size) for size in some}
            for _ in range(5):
                for data in sent.values():
                    sock.send(data)
                try:
                    while sent:
                        right(sock.recv(65536), sent)
                except socket.timeout:
                    lost += len(sent)
                if not sent:
                    break
            else:
                sys.exit(f"{sorted(sent)} bytes: no answer")
    print(f"{len(todo)} sizes up to {todo[-1]}, {lost} lost")


def softirq(addr, port):
    """softirq ADDR PORT"""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind((addr, port))
        sock.settimeout(1)
        for cpu in os.sched_getaffinity(0):
            os.sched_setaffinity(0, {cpu})
            sock.sendto(b"x", (addr, port))
            sock.recv(1)


def main():
    """pick the command"""
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    name, addr, port = sys.argv[1], sys.argv[2], int(sys.argv[3])
    if name == "serve":
        serve(addr, port)
    elif name == "load":
        load(addr, port, sys.argv[4])
    elif name == "echo":
        opened(addr, port, b"").close()
        echo(addr, port, int(sys.argv[4]))
    elif name == "flood":
        flood(opened(addr, port, b"F"), functools.partial(print, flush=True))
    elif name == "softirq":
        softirq(addr, port)
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
