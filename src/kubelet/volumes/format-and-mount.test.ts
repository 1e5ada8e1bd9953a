import { expect, test } from 'vitest';
import type { Executed } from '#machinery/execute.ts';
import { type DeviceMount, formatAndMount, growFileSystem } from './format-and-mount.ts';

/** Runs programs that end as `results` say, by name; others end with success. */
function programs(results: Readonly<Record<string, Partial<Executed> | Error>>) {
  const commands: string[] = [];
  const run = (command: readonly string[]): Promise<Executed> => {
    commands.push(command.join(' '));
    const result = results[command[0] ?? ''] ?? {};
    if (result instanceof Error) return Promise.reject(result);
    return Promise.resolve({ code: 0, stdout: '', stderr: '', ...result });
  };
  return { run, commands };
}

const disk: DeviceMount = {
  device: '/dev/x',
  target: '/mnt/x',
  fsType: 'ext4',
  options: [],
  readOnly: false,
};
const PROBE = 'blkid -p -s TYPE -s PTTYPE -o export /dev/x';
const blank = { blkid: { code: 2 } };
const ext4 = { blkid: { stdout: 'DEVNAME=/dev/x\nTYPE=ext4\n' } };

test.each([
  ['ext4', '-F -m0 '],
  ['ext3', '-F -m0 '],
  ['xfs', '-f '],
  ['btrfs', ''],
])('a blank device is formatted as %s', async (fsType, flags) => {
  const { run, commands } = programs(blank);
  await formatAndMount({ ...disk, fsType }, run);
  expect(commands).toEqual([
    PROBE,
    `mkfs.${fsType} ${flags}/dev/x`,
    `mount -t ${fsType} -o defaults /dev/x /mnt/x`,
  ]);
});

test('a device with a file system is checked, not formatted', async () => {
  const { run, commands } = programs(ext4);
  await formatAndMount({ ...disk, options: ['noatime'] }, run);
  expect(commands).toEqual([
    PROBE,
    'fsck -a /dev/x',
    'mount -t ext4 -o noatime,defaults /dev/x /mnt/x',
  ]);
});

test('a device with partitions is not formatted', async () => {
  const { run, commands } = programs({ blkid: { stdout: 'PTTYPE=gpt\n' } });
  await formatAndMount(disk, run);
  expect(commands.filter((command) => command.startsWith('mkfs'))).toEqual([]);
});

test('a read-only device is neither formatted nor repaired', async () => {
  const { run, commands } = programs(ext4);
  await formatAndMount({ ...disk, readOnly: true }, run);
  expect(commands).toEqual([PROBE, 'mount -t ext4 -o ro,defaults /dev/x /mnt/x']);
  const empty = programs(blank);
  await expect(formatAndMount({ ...disk, readOnly: true }, empty.run)).rejects.toThrow(
    'cannot mount unformatted disk /dev/x as we are manipulating it in read-only mode',
  );
  expect(empty.commands).toEqual([PROBE]);
});

test.each([
  ['fsck is not installed', Object.assign(new Error('spawn fsck'), { code: 'ENOENT' })],
  ['fsck has repaired the errors', { code: 1 }],
  ['fsck itself fails', { code: 8 }],
])('is mounted if %s', async (_, fsck) => {
  const { run, commands } = programs({ ...ext4, fsck });
  await formatAndMount(disk, run);
  expect(commands.at(-1)).toContain('mount ');
});

test.each([
  [
    'errors are left',
    { ...ext4, fsck: { code: 4, stdout: 'UNEXPECTED INCONSISTENCY\n' } },
    "'fsck' found errors on device /dev/x but could not correct them: UNEXPECTED INCONSISTENCY",
  ],
  [
    'the device cannot be read',
    { blkid: { code: 4, stderr: 'error' } },
    'failed to get disk format of disk /dev/x',
  ],
  [
    'it cannot be formatted',
    { ...blank, 'mkfs.ext4': { code: 1, stderr: 'too small\n' } },
    'mkfs.ext4 -F -m0 /dev/x: exit code 1: too small',
  ],
  [
    'it cannot be mounted',
    { ...ext4, mount: { code: 32, stderr: 'busy\n' } },
    'mount -t ext4 -o defaults /dev/x /mnt/x: exit code 32: busy',
  ],
])('is rejected if %s', async (_, results, message) => {
  await expect(formatAndMount(disk, programs(results).run)).rejects.toThrow(message);
});

test.each(['', '../x', 'ext4/..', 'Ext 4', '-t'])(
  'no program is run for the type %j',
  async (fsType) => {
    const { run, commands } = programs(blank);
    await expect(formatAndMount({ ...disk, fsType }, run)).rejects.toThrow(
      'invalid file system type',
    );
    expect(commands).toEqual([]);
  },
);

test.each([
  ['ext4', 'resize2fs /dev/x'],
  ['xfs', 'xfs_growfs -d /mnt/x'],
  ['btrfs', 'btrfs filesystem resize max /mnt/x'],
])('a mounted file system of type %s grows', async (type, command) => {
  const { run, commands } = programs({ blkid: { stdout: `TYPE=${type}\n` } });
  await growFileSystem('/dev/x', '/mnt/x', run);
  expect(commands).toEqual([PROBE, command]);
});

test('a file system that cannot grow, or may not, is an error', async () => {
  const vfat = programs({ blkid: { stdout: 'TYPE=vfat\n' } });
  await expect(growFileSystem('/dev/x', '/mnt/x', vfat.run)).rejects.toThrow(
    'resize of format vfat is not supported for device /dev/x mounted at /mnt/x',
  );
  const denied = { code: 1, stderr: 'Permission denied' };
  const { run } = programs({ ...ext4, resize2fs: denied });
  await expect(growFileSystem('/dev/x', '/mnt/x', run)).rejects.toThrow('Permission denied');
});
