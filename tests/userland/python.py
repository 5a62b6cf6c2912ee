#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Threads, subprocesses, multiprocessing, signals, asyncio."""

import asyncio
import concurrent.futures
import hashlib
import multiprocessing
import os
import queue
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time


def square(number):
    return number * number


def fail(number):
    raise ValueError(number)


def add(counter, rounds):
    for _ in range(rounds):
        with counter.get_lock():
            counter.value += 1


def note(shared, number):
    shared[number] = square(number)


def threads():
    todo, done = queue.Queue(), []
    for number in range(100):
        todo.put(number)

    def work():
        while True:
            try:
                done.append(square(todo.get_nowait()))
            except queue.Empty:
                return

    workers = [threading.Thread(target=work) for _ in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    print("threads", sum(done))


def subprocesses():
    print(subprocess.run(["cat"], input=b"through cat", capture_output=True).stdout)
    print(subprocess.run("exit 3", shell=True).returncode, subprocess.getoutput("echo got"))
    slow = subprocess.Popen(["sleep", "10"])
    slow.terminate()
    print(slow.wait())
    try:
        subprocess.run(["sleep", "10"], timeout=0.1)
    except subprocess.TimeoutExpired:
        print("timed out")
    first = subprocess.Popen(["seq", "1000"], stdout=subprocess.PIPE)
    second = subprocess.Popen(["md5sum"], stdin=first.stdout, stdout=subprocess.PIPE)
    first.stdout.close()
    print(second.communicate()[0].decode(), first.wait())
    many = [subprocess.Popen([sys.executable, "-S", "-c", f"raise SystemExit({n})"]) for n in range(6)]
    print([each.wait() for each in many])


def processes():
    for method in ["fork", "spawn", "forkserver"]:
        context = multiprocessing.get_context(method)
        with context.Pool(4) as pool:
            print(method, pool.map(square, range(10)), pool.apply(os.path.basename, ("/a/b",)))
            try:
                pool.apply(fail, (7,))
            except ValueError as error:
                print("raised", error)
        counter = context.Value("i", 0)
        team = [context.Process(target=add, args=(counter, 200)) for _ in range(4)]
        for each in team:
            each.start()
        for each in team:
            each.join()
        print("counted", counter.value, [each.exitcode for each in team])
        with context.Manager() as manager:
            shared = manager.dict()
            team = [context.Process(target=note, args=(shared, number)) for number in range(3)]
            for each in team:
                each.start()
            for each in team:
                each.join()
            print("managed", sorted(shared.items()))
    ours, theirs = multiprocessing.Pipe()
    child = multiprocessing.Process(target=theirs.send, args=({"a": [1, 2]},))
    child.start()
    print(ours.recv())
    child.join()
    with concurrent.futures.ProcessPoolExecutor(3) as pool:
        print(sum(pool.map(square, range(50))))


def signals():
    seen = []
    signal.signal(signal.SIGUSR1, lambda number, frame: seen.append(number))
    os.kill(os.getpid(), signal.SIGUSR1)
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    signal.signal(signal.SIGALRM, lambda number, frame: seen.append(number))
    time.sleep(0.2)
    print("signals", seen)
    child = os.fork()
    if child == 0:
        os._exit(42)
    print("child", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))


async def several():
    async def late(number):
        await asyncio.sleep(0.01 * (3 - number))
        return number

    print(await asyncio.gather(*(late(number) for number in range(3))))
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "socket")

        async def shout(reader, writer):
            writer.write((await reader.readline()).upper())
            writer.close()

        async with await asyncio.start_unix_server(shout, path):
            reader, writer = await asyncio.open_unix_connection(path)
            writer.write(b"hello\n")
            print(await reader.read())
            writer.close()
    child = await asyncio.create_subprocess_exec("wc", "-c", stdin=-1, stdout=-1)
    print((await child.communicate(b"12345"))[0])


def main():
    threads()
    subprocesses()
    processes()
    signals()
    asyncio.run(several())
    with tempfile.NamedTemporaryFile(dir=".") as file, sqlite3.connect(file.name) as base:
        base.execute("create table t (n integer)")
        base.executemany("insert into t values (?)", [(n,) for n in range(100)])
        print(base.execute("select sum(n), count(*) from t").fetchone())
    print(hashlib.sha256(b"x" * 1000000).hexdigest())
    sys.exit(6)


if __name__ == "__main__":
    main()
