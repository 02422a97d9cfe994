"""Gets one folder of a Debian source package with apt, without changing the system's apt configuration: the
system's own "deb" entries are rewritten as "deb-src" into a temporary list, with temporary state and cache.
What was got is kept in a cache folder, so that a second run downloads nothing; that nothing could be got is kept for a
while too, so that the next test of the same run does not wait for the same refusal."""
import glob
import os
import re
import shutil
import subprocess
import tempfile
import time


REFUSAL_HOLDS_S = 900


class Unavailable(Exception):
    """The source cannot be had; the message names what is missing."""


def source_entries(root="/etc/apt"):
    """(one-line entries, deb822 stanzas): every configured repository as a source repository."""
    lines, stanzas = [], []
    for path in [f"{root}/sources.list"] + sorted(glob.glob(f"{root}/sources.list.d/*.list")):
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                lines += [re.sub(r"^\s*deb\s", "deb-src ", line.rstrip()) for line in file
                          if re.match(r"\s*deb\s", line)]
    for path in sorted(glob.glob(f"{root}/sources.list.d/*.sources")):
        with open(path, encoding="utf-8") as file:
            text = "\n".join(line for line in file.read().splitlines() if not line.startswith("#"))
        for stanza in re.split(r"\n\s*\n", text.strip()):
            if re.search(r"(?mi)^Types:.*\bdeb(\s|$)", stanza) and not re.search(r"(?mi)^Enabled:\s*(no|false)", stanza):
                stanzas.append(re.sub(r"(?mi)^Types:.*$", "Types: deb-src", stanza))
    return lines, stanzas


def _run(line, cwd, timeout_s):
    try:
        done = subprocess.run(line, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=timeout_s, check=False,
                              env=dict(os.environ, LC_ALL="C", DEBIAN_FRONTEND="noninteractive"))
        return done.returncode, done.stdout.decode(errors="replace")
    except FileNotFoundError:
        return 127, f"E: {line[0]} is not installed"
    except subprocess.TimeoutExpired:
        return 124, f"E: {line[0]} {line[-1]}: no answer in {timeout_s} s"


def _complaint(output):
    lines = [re.sub(r"\w+://[^/\s]+", "MIRROR", line) for line in output.splitlines() if line.startswith("E:")]
    return "; ".join(dict.fromkeys(lines[:4])) or output.strip()[-300:]


def obtain(package, version, folder, cache):
    """The path of `folder` of that source package: from the cache, else downloaded into it."""
    kept = os.path.join(cache, f"{package}-{version}", folder)
    if os.path.isdir(kept):
        return kept
    refusal = os.path.join(cache, f"{package}-{version}.refused")
    try:
        if time.time() - os.stat(refusal).st_mtime < REFUSAL_HOLDS_S:
            with open(refusal, encoding="utf-8") as file:
                raise Unavailable(file.read().strip())
    except FileNotFoundError:
        pass
    try:
        return _download(package, version, folder, kept)
    except Unavailable as problem:
        os.makedirs(cache, exist_ok=True)
        with open(refusal, "w", encoding="utf-8") as file:
            file.write(f"{problem}\n")
        raise


def _download(package, version, folder, kept):
    what = f"'{folder}' of the Debian source package {package} {version}"
    lines, stanzas = source_entries()
    if not lines and not stanzas:
        raise Unavailable(f"{what}: apt has no package source configured")
    work = tempfile.mkdtemp(prefix="stria-source-")
    try:
        for name in ("parts", "state/lists/partial", "cache/archives/partial", "got"):
            os.makedirs(os.path.join(work, name))
        with open(f"{work}/parts/a.list", "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
        with open(f"{work}/parts/b.sources", "w", encoding="utf-8") as file:
            file.write("\n\n".join(stanzas) + "\n")
        apt = ["apt-get", "-q", "-o", "Dir::Etc::sourcelist=/dev/null", "-o", f"Dir::Etc::sourceparts={work}/parts",
               "-o", f"Dir::State={work}/state", "-o", f"Dir::State::lists={work}/state/lists",
               "-o", "Dir::State::status=/var/lib/dpkg/status", "-o", f"Dir::Cache={work}/cache",
               "-o", "APT::Sandbox::User=", "-o", "Acquire::Retries=2", "-o", "Acquire::http::Timeout=10"]
        _, updated = _run(apt + ["update"], work, 60)  # one repository without sources is no failure yet
        code, output = _run(apt + ["source", "--download-only", f"{package}={version}"], f"{work}/got", 60)
        if code != 0:
            raise Unavailable(f"{what} cannot be downloaded: {_complaint(output)}"
                              + (f" (after: {_complaint(updated)})" if "\nE:" in "\n" + updated else ""))
        description = next(iter(glob.glob(f"{work}/got/*.dsc")))
        code, output = _run(["dpkg-source", "--no-check", "-x", description, f"{work}/tree"], work, 60)
        if code != 0:
            raise Unavailable(f"{what} cannot be unpacked (Debian package dpkg-dev): {_complaint(output)}")
        if not os.path.isdir(f"{work}/tree/{folder}"):
            raise Unavailable(f"{what}: the package has no such folder")
        os.makedirs(os.path.dirname(kept), exist_ok=True)
        whole = tempfile.mkdtemp(dir=os.path.dirname(kept))
        shutil.copytree(f"{work}/tree/{folder}", f"{whole}/new", symlinks=True)
        try:
            os.rename(f"{whole}/new", kept)
        except OSError:  # another run was first
            if not os.path.isdir(kept):
                raise
        shutil.rmtree(whole, ignore_errors=True)
        return kept
    finally:
        shutil.rmtree(work, ignore_errors=True)
