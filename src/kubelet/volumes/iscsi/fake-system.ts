// A machine with iSCSI, for tests: targets, sessions, and devices that come with a scan.

import type { IscsiSystem } from './system.ts';

export class FakeIscsiSystem implements IscsiSystem {
  /** The arguments of iscsiadm, one string each. */
  readonly commands: string[] = [];
  readonly removed: string[] = [];
  readonly devices = new Set<string>();
  /** Commands that contain one of these fail, with the code. */
  readonly failing = new Map<string, number>();
  isInstalled = true;
  /** Whether a device appears after a scan. */
  hasDisks = true;
  /** The multipath device of all devices; undefined: there is no multipathd. */
  multipath: string | undefined;
  readonly #sessions = new Map<string, Map<string, number>>();

  admin(args: readonly string[]): Promise<{ readonly code: number; readonly output: string }> {
    if (!this.isInstalled) return Promise.reject(new Error('executable file not found in $PATH'));
    const command = args.join(' ');
    this.commands.push(command);
    for (const [part, code] of this.failing)
      if (command.includes(part)) return Promise.resolve({ code, output: `iscsiadm: ${part}\n` });
    const [, portal = '', iqn = ''] = / -p (\S+) -T (\S+)/.exec(command) ?? [];
    if (command.endsWith('--login')) {
      const sessions = this.#sessions.get(iqn) ?? new Map<string, number>();
      this.#sessions.set(iqn, sessions.set(portal, sessions.size + 2));
    }
    if (command.includes('--logout')) this.#sessions.get(iqn)?.delete(portal);
    const output = command.endsWith('-o show')
      ? 'iface.iscsi_ifacename = default\niface.transport_name = tcp\niface.ipaddress = <empty>\n'
      : '';
    return Promise.resolve({ code: 0, output });
  }

  hosts(iqn: string): Promise<ReadonlyMap<string, number>> {
    return Promise.resolve(this.#sessions.get(iqn) ?? new Map());
  }

  scan(host: number, lun: number): Promise<void> {
    if (this.hasDisks)
      for (const [iqn, sessions] of this.#sessions)
        for (const [portal, number] of sessions)
          if (number === host)
            this.devices.add(`/dev/disk/by-path/ip-${portal}-iscsi-${iqn}-lun-${lun}`);
    return Promise.resolve();
  }

  find(pattern: string): Promise<string | undefined> {
    return Promise.resolve(this.devices.has(pattern) ? pattern : undefined);
  }

  mapped(): Promise<string | undefined> {
    return Promise.resolve(this.multipath);
  }

  resolve(path: string): Promise<string> {
    return Promise.resolve(path);
  }

  removeDevices(iqn: string, lun: number): Promise<void> {
    this.removed.push(`${iqn} ${lun}`);
    return Promise.resolve();
  }
}
