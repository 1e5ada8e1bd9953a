import { describe, expect, test } from 'vitest';
import { VirtualClock } from '#machinery/clock.ts';
import { attach, detach } from './attach.ts';
import { directoryOf, diskOf, fromRecord, recordOf } from './disk.ts';
import { FakeIscsiSystem } from './fake-system.ts';

const IQN = 'iqn.2001-04.com.example:storage';
const source = { targetPortal: '192.0.2.1', iqn: IQN, lun: 1 };
const disk = diskOf('data', source);
const config = (system: FakeIscsiSystem, secret: Readonly<Record<string, string>> = {}) => ({
  system,
  secret,
  clock: new VirtualClock(),
});

describe('attach', () => {
  test('discovers, logs in and finds the device, as upstream', async () => {
    const system = new FakeIscsiSystem();
    expect(await attach(disk, config(system))).toBe(
      `/dev/disk/by-path/ip-192.0.2.1:3260-iscsi-${IQN}-lun-1`,
    );
    const node = `-m node -p 192.0.2.1:3260 -T ${IQN}`;
    const database = '-m discoverydb -t sendtargets -p 192.0.2.1:3260 -I default';
    expect(system.commands).toEqual([
      '-m iface -I default -o show',
      `${database} -o new`,
      `${database} --discover`,
      `${node} -I default -o update -n node.session.scan -v manual`,
      `${node} -I default --login`,
      `${node} -o update -n node.startup -v manual`,
    ]);
  });

  test('uses the session that there is', async () => {
    const system = new FakeIscsiSystem();
    await attach(disk, config(system));
    system.commands.length = 0;
    await attach(diskOf('other', { ...source, lun: 2 }), config(system));
    expect(system.commands).toEqual(['-m iface -I default -o show']);
  });

  test('authenticates with the values of the secret that are there', async () => {
    const system = new FakeIscsiSystem();
    const secret = {
      'discovery.sendtargets.auth.username': 'reader',
      'node.session.auth.username': 'user',
      'node.session.auth.password': 'S3cr3t',
      'node.session.auth.other': 'unknown',
    };
    const chap = { ...source, chapAuthDiscovery: true, chapAuthSession: true };
    await attach(diskOf('data', chap), config(system, secret));
    expect(
      system.commands.flatMap((command) => /-n (\S*auth\S* -v \S+)/.exec(command)?.[1] ?? []),
    ).toEqual([
      'discovery.sendtargets.auth.authmethod -v CHAP',
      'discovery.sendtargets.auth.username -v reader',
      'node.session.auth.authmethod -v CHAP',
      'node.session.auth.username -v user',
      'node.session.auth.password -v S3cr3t',
    ]);
    system.failing.set('auth.password', 1);
    await detach(disk, system, false);
    const failure = attach(diskOf('data', chap), config(system, secret));
    await expect(failure).rejects.toThrow('failed to update node key "node.session.auth.password"');
    await expect(failure).rejects.not.toThrow('S3cr3t');
  });

  const several = diskOf('data', { ...source, portals: ['192.0.2.2:3261', '192.0.2.3'] });
  const logins = (system: FakeIscsiSystem) =>
    system.commands
      .filter((command) => command.endsWith('--login'))
      .map((command) => / -p (\S+)/.exec(command)?.[1]);

  test('logs in at all portals, and uses the multipath device', async () => {
    const system = new FakeIscsiSystem();
    system.multipath = '/dev/dm-3';
    expect(await attach(several, config(system))).toBe('/dev/dm-3');
    expect(logins(system)).toEqual(['192.0.2.1:3260', '192.0.2.2:3261', '192.0.2.3:3260']);
    system.commands.length = 0;
    await detach(several, system, false);
    expect(system.commands.filter((command) => command.includes('--logout'))).toHaveLength(3);
  });

  test('a disk with one portal uses a multipath device that is there', async () => {
    const system = new FakeIscsiSystem();
    system.multipath = '/dev/dm-3';
    expect(await attach(disk, config(system))).toBe('/dev/dm-3');
  });

  test('without a multipath device one path is used, after ten seconds', async () => {
    const system = new FakeIscsiSystem();
    const clock = new VirtualClock();
    let device = '';
    const attached = attach(several, { ...config(system), clock }).then(
      (found) => (device = found),
    );
    await clock.advance('9s');
    expect(device).toBe('');
    await clock.advance('2s');
    await attached;
    expect(device).toContain('/ip-192.0.2.1:3260-iscsi-');
  });

  test('a portal that fails is tried again, and left out when two others work', async () => {
    const system = new FakeIscsiSystem();
    system.multipath = '/dev/dm-3';
    const failing = '-p 192.0.2.1:3260 -I default --discover';
    system.failing.set(failing, 8);
    expect(await attach(several, config(system))).toBe('/dev/dm-3');
    expect(system.commands.filter((command) => command.endsWith(failing))).toHaveLength(2);
    expect(logins(system)).toEqual(['192.0.2.2:3261', '192.0.2.3:3260']);
  });

  test('one of two portals is used after five attempts', async () => {
    const system = new FakeIscsiSystem();
    const clock = new VirtualClock();
    const failing = '-p 192.0.2.1:3260 -I default --discover';
    system.failing.set(failing, 8);
    const two = diskOf('data', { ...source, portals: ['192.0.2.2:3261'] });
    const attached = attach(two, { ...config(system), clock });
    await clock.advance('11s');
    expect(await attached).toContain('/ip-192.0.2.2:3261-iscsi-');
    expect(system.commands.filter((command) => command.endsWith(failing))).toHaveLength(5);
  });

  test('a copy of the interface has the initiator name of the volume', async () => {
    const system = new FakeIscsiSystem();
    const named = diskOf('data', { ...source, initiatorName: 'iqn.1994-05.com.example:me' });
    await attach(named, config(system));
    const record = '-m iface -I 192.0.2.1:3260:data';
    expect(system.commands.filter((command) => command.startsWith(record))).toEqual([
      `${record} -o new`,
      `${record} -o update -n iface.initiatorname -v iqn.1994-05.com.example:me`,
      `${record} -o update -n iface.transport_name -v tcp`,
    ]);
    system.commands.length = 0;
    await detach(named, system, false);
    expect(system.commands.at(-1)).toBe(`${record} -o delete`);
  });

  test.each([
    ['-o show', 21, 'iscsi: could not read iface default error: iscsiadm: -o show'],
    [
      '--discover',
      8,
      'failed to get any path for iscsi disk, last err seen:\niscsi: failed to sendtargets to portal ' +
        '192.0.2.1:3260 output: iscsiadm: --discover, err exit status 8',
    ],
    ['--login', 24, 'iscsi: failed to attach disk: Error: iscsiadm: --login (exit status 24)'],
  ])('%s fails with %i', async (part, code, message) => {
    const system = new FakeIscsiSystem();
    system.failing.set(part, code);
    await expect(attach(disk, config(system))).rejects.toThrow(message);
  });

  test('a device that does not appear is waited for', async () => {
    const system = new FakeIscsiSystem();
    system.hasDisks = false;
    const clock = new VirtualClock();
    const failure = attach(disk, { ...config(system), clock }).catch(
      (error: Error) => error.message,
    );
    await clock.advance(31_000);
    expect(await failure).toContain(
      `Timed out waiting for device at path /dev/disk/by-path/ip-192.0.2.1:3260-iscsi-${IQN}-lun-1 after 30s`,
    );
  });
});

describe('detach', () => {
  test('removes the device, and logs out when the target has no other', async () => {
    const system = new FakeIscsiSystem();
    await attach(disk, config(system));
    system.commands.length = 0;
    await detach(disk, system, true);
    expect(system.commands).toEqual([]);
    await detach(disk, system, false);
    expect(system.removed).toEqual([`${IQN} 1`, `${IQN} 1`]);
    const node = `-m node -p 192.0.2.1:3260 -T ${IQN}`;
    expect(system.commands).toEqual([
      `${node} --logout -I default`,
      `${node} -o delete -I default`,
    ]);
  });

  test('a logout that fails is an error, unless nothing was logged in', async () => {
    const system = new FakeIscsiSystem();
    await attach(disk, config(system));
    system.failing.set('--logout', 10);
    await expect(detach(disk, system, false)).rejects.toThrow('failed to finish detachISCSIDisk');
    await detach(
      diskOf('data', { ...source, iqn: 'iqn.2001-04.com.example:other' }),
      system,
      false,
    );
    system.isInstalled = false;
    await detach(
      diskOf('data', { ...source, iqn: 'iqn.2001-04.com.example:other' }),
      system,
      false,
    );
  });
});

describe('disks', () => {
  test('have the directories and the records of upstream', () => {
    expect(directoryOf(disk)).toBe(`iface-default/192.0.2.1:3260-${IQN}-lun-1`);
    expect(recordOf(disk)).toEqual({
      VolName: 'data',
      Portals: ['192.0.2.1:3260'],
      Iqn: IQN,
      Lun: '1',
      InitIface: 'default',
      Iface: 'default',
      InitiatorName: '',
      MetricsProvider: null,
    });
    expect(fromRecord(JSON.stringify(recordOf(disk)))).toEqual(disk);
  });

  test.each(['null', '{}', '[]', '{"VolName":"a"}'])('%s is no record', (text) => {
    expect(() => fromRecord(text)).toThrow('not complete');
  });

  test.each([
    { targetPortal: '--logout' },
    { iqn: 'iqn/../../x' },
    { iscsiInterface: '../x' },
    { initiatorName: 'a b' },
    { portals: ['$(x)'] },
  ])('%o is invalid', (part) => {
    expect(() => diskOf('data', { ...source, ...part })).toThrow('iscsi: invalid value');
  });
});
