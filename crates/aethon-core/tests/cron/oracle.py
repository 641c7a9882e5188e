"""Writes times.txt: what cron expressions come to over two years in three time zones.

The calendar is cronsim's (on local times without a zone), the zones are those of Python's zoneinfo: neither knows anything
of the code that the table tests. A local time that does not exist counts as the end of the gap, one that comes twice as the
first of the two, and what falls on the same moment is one run.

Run once by hand; the tests read the table. Made with Python 3 and:  pip install cronsim==VERSION tzdata==VERSION
(the versions stand in the first lines of the table):  python oracle.py > times.txt
"""

from datetime import datetime, timedelta, timezone
from importlib.metadata import version
from zoneinfo import ZoneInfo

from cronsim import CronSim

START = datetime(2026, 1, 1)
END = datetime(2028, 1, 1)
ZONES = ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe"]
EXPRESSIONS = [
    "0 9 * * 1-5",
    "30 2 * * *",
    "15 2 * * 0",
    "0 3 * * *",
    "*/15 * * * *",
    "5,35 1-3 * * *",
    "0 0 1 * *",
    "0 12 31 * *",
    "0 8 13 * 5",
    "0 8 1-7 * mon",
    "45 1 * 3,10,4,11 sun",
    "0 22 * * 5-7",
    "0 6 * * 7",
    "10-50/20 */6 * jan-mar *",
    "0 0 29 2 *",
    "59 23 28 * *",
    "0 4 */2 * 1",
    "0 4 10 * */2",
    "0 0 * * sun",
    "7 7 7 7 *",
]


def exists(local, zone):
    aware = local.replace(tzinfo=zone, fold=0)
    return aware.astimezone(timezone.utc).astimezone(zone).replace(tzinfo=None) == local


def moment(local, zone):
    """The moment of a local time."""
    if exists(local, zone):
        return local.replace(tzinfo=zone, fold=0).astimezone(timezone.utc)
    minute = local
    while not exists(minute, zone):
        minute += timedelta(minutes=1)
    return minute.replace(tzinfo=zone, fold=0).astimezone(timezone.utc)


def times(expression, zone):
    found = []
    for local in CronSim(expression, START - timedelta(minutes=1)):
        if local >= END:
            break
        at = moment(local, zone)
        if not found or at > found[-1]:
            found.append(at)
    return found


def fnv(text):
    """FNV-1a of 64 bits: enough to notice a difference, and a few lines in any language."""
    digest = 0xCBF29CE484222325
    for byte in text.encode():
        digest = ((digest ^ byte) * 0x100000001B3) % 2**64
    return f"{digest:016x}"


print(f"# cronsim {version('cronsim')}, tzdata {version('tzdata')}; written by oracle.py")
print("# zone | expression | number of times | FNV-1a of all, one a line | those round changes of the clock, and the first five")
for name in ZONES:
    zone = ZoneInfo(name)
    for expression in EXPRESSIONS:
        all_times = times(expression, zone)
        lines = [at.strftime("%Y-%m-%dT%H:%M:%SZ") for at in all_times]
        digest = fnv("".join(line + "\n" for line in lines))

        def is_near_change(at):
            before, after = at - timedelta(hours=2), at + timedelta(hours=2)
            return before.astimezone(zone).utcoffset() != after.astimezone(zone).utcoffset()

        shown = lines[:5] + [line for at, line in zip(all_times[5:], lines[5:]) if is_near_change(at)]
        print(" | ".join([name, expression, str(len(lines)), digest, " ".join(shown)]))
