"""A systemd-logind that only knows locks, on the bus of DBUS_SYSTEM_BUS_ADDRESS.

Reads commands from standard input: "shutdown" and "cancel" send the signal PrepareForShutdown.
Prints "ready" at the start, and "locks N" whenever the number of held locks has changed.
"""

import os
import sys

import dbus
import dbus.mainloop.glib
import dbus.service
from gi.repository import GLib

MANAGER = "org.freedesktop.login1.Manager"
PROPERTIES = "org.freedesktop.DBus.Properties"


class Manager(dbus.service.Object):
    def __init__(self, bus):
        super().__init__(bus, "/org/freedesktop/login1")
        self.locks = set()

    @dbus.service.method(MANAGER, in_signature="ssss", out_signature="h")
    def Inhibit(self, what, who, why, mode):
        reader, writer = os.pipe()
        self.locks.add(reader)
        GLib.io_add_watch(reader, GLib.IO_HUP, self.released)
        lock = dbus.types.UnixFd(writer)
        os.close(writer)
        self.show()
        return lock

    def released(self, reader, _condition):
        os.close(reader)
        self.locks.discard(reader)
        self.show()
        return False

    def show(self):
        print("locks", len(self.locks), flush=True)

    @dbus.service.method(PROPERTIES, in_signature="ss", out_signature="v")
    def Get(self, _interface, name):
        if name != "InhibitDelayMaxUSec":
            raise dbus.exceptions.DBusException("unknown property " + name)
        return dbus.UInt64(120_000_000)

    @dbus.service.signal(MANAGER, signature="b")
    def PrepareForShutdown(self, begins):
        pass


dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
bus = dbus.SystemBus()
name = dbus.service.BusName("org.freedesktop.login1", bus)
manager = Manager(bus)
loop = GLib.MainLoop()


def command(stream, _condition):
    line = stream.readline()
    if line == "":
        loop.quit()
        return False
    if line.strip() in ("shutdown", "cancel"):
        manager.PrepareForShutdown(line.strip() == "shutdown")
    return True


GLib.io_add_watch(sys.stdin, GLib.IO_IN | GLib.IO_HUP, command)
print("ready", flush=True)
loop.run()
