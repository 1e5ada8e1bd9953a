// The machine, as the iSCSI volumes use it. Tests have a fake.

import { readdir, readFile, realpath, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { execute } from '#machinery/execute.ts';

export interface IscsiSystem {
  /** Runs iscsiadm(8). Rejects if it is not installed. */
  admin(args: readonly string[]): Promise<{ readonly code: number; readonly output: string }>;
  /** Returns the SCSI host of each portal by which this machine is logged in to a target. */
  hosts(iqn: string): Promise<ReadonlyMap<string, number>>;
  /** Makes the kernel look for one LUN. */
  scan(host: number, lun: number): Promise<void>;
  /** Returns the first path that matches; '*' in the last part stands for any characters. */
  find(pattern: string): Promise<string | undefined>;
  /** Returns the multipath device that has the device as a path; undefined if none has. */
  mapped(device: string): Promise<string | undefined>;
  /** Returns the device to which a link in /dev leads. */
  resolve(path: string): Promise<string>;
  /** Deletes the kernel's devices of a LUN, and the multipath device that they belong to. */
  removeDevices(iqn: string, lun: number): Promise<void>;
}

const HOSTS = '/sys/class/iscsi_host';

export const iscsiSystem: IscsiSystem = {
  async admin(args) {
    try {
      const { code, stdout, stderr } = await execute(['iscsiadm', ...args], '');
      return { code, output: stdout + stderr };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
      throw new Error(
        'executable file not found in $PATH: iscsiadm (Debian: open-iscsi), which iSCSI volumes need',
        { cause: error },
      );
    }
  },

  async hosts(iqn) {
    const found = new Map<string, number>();
    for (const { host, session } of await sessionsOf(iqn)) {
      for (const connection of await named(session, /^connection/)) {
        const dir = join(session, connection, 'iscsi_connection', connection);
        for (const kind of ['', 'persistent_']) {
          const address = await text(join(dir, `${kind}address`));
          const port = await text(join(dir, `${kind}port`));
          if (address === '' || address === '(null)') continue;
          found.set(`${address.includes(':') ? `[${address}]` : address}:${port}`, host);
        }
      }
    }
    return found;
  },

  async scan(host, lun) {
    // Channel and target of iSCSI are always 0.
    await writeFile(`/sys/class/scsi_host/host${host}/scan`, `0 0 ${lun}`);
  },

  async find(pattern) {
    const [before = '', after] = basename(pattern).split('*');
    const name = (await named(dirname(pattern), /./)).find((each) =>
      after === undefined ? each === before : each.startsWith(before) && each.endsWith(after),
    );
    return name === undefined ? undefined : join(dirname(pattern), name);
  },

  async mapped(device) {
    const path = await realpath(device);
    if (path.startsWith('/dev/dm-')) return path;
    for (const map of await named('/sys/block', /^dm-\d+$/)) {
      const slaves = await named(join('/sys/block', map, 'slaves'), /./);
      if (slaves.includes(basename(path))) return `/dev/${map}`;
    }
    return undefined;
  },

  resolve: (path) => realpath(path),

  async removeDevices(iqn, lun) {
    const devices: string[] = [];
    for (const { host, session } of await sessionsOf(iqn))
      for (const target of await named(session, /^target/))
        devices.push(...(await named(join(session, target, `${host}:0:0:${lun}`, 'block'), /./)));
    const maps = new Set<string>();
    for (const device of devices) {
      const map = await iscsiSystem.mapped(`/dev/${device}`);
      if (map !== undefined) maps.add(map);
    }
    for (const map of maps) {
      const { code, stderr } = await execute(['multipath', '-f', map], '');
      if (code !== 0) throw new Error(`multipath -f ${map}: ${stderr.trim()}`);
    }
    for (const device of devices) await writeFile(`/sys/block/${device}/device/delete`, '1');
  },
};

/** Returns the sessions with a target: their SCSI hosts and their directories in /sys. */
async function sessionsOf(
  iqn: string,
): Promise<readonly { readonly host: number; readonly session: string }[]> {
  const found: { readonly host: number; readonly session: string }[] = [];
  for (const name of await named(HOSTS, /^host\d+$/)) {
    const device = join(HOSTS, name, 'device');
    for (const session of await named(device, /^session/)) {
      const path = join(device, session);
      if ((await text(join(path, 'iscsi_session', session, 'targetname'))) === iqn)
        found.push({ host: Number(name.slice('host'.length)), session: path });
    }
  }
  return found;
}

/** Returns the names in a directory; none if it does not exist. */
async function named(directory: string, pattern: RegExp): Promise<readonly string[]> {
  try {
    return (await readdir(directory)).filter((name) => pattern.test(name)).toSorted();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

/** Returns the content of a file of /sys; '' if a session has ended meanwhile. */
async function text(path: string): Promise<string> {
  return (await readFile(path, 'utf8').catch(() => '')).trim();
}
